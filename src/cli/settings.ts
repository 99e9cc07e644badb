import { InvalidArgumentError } from "../errors/errors.js";
import { type CommandOption, UsageError } from "./command.js";
import { readText } from "./files.js";
import { parseObject } from "./json.js";
import type { Terminal } from "./terminal.js";

/** What commands that call the service need to know. */
export interface Settings {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly realm: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly username: string;
  readonly password: string;
  /** The gateway's own id: its `institutionId`. */
  readonly gatewayId?: string;
  /** The file of the private key. */
  readonly signingKey?: string;
  /** The file of the authorities to trust. */
  readonly ca?: string;
  /** Where flows are kept: a file, or a `postgresql:` URL, which may hold a password. */
  readonly journal?: string;
}

type Name = keyof Settings;

interface Setting {
  readonly help: string;
  readonly isRequired?: true;
  /** Never from the command line, where others can see it. */
  readonly isSecret?: true;
}

const settings: Readonly<Record<Name, Setting>> = {
  baseUrl: { help: "address of the service, base path included", isRequired: true },
  authUrl: { help: "address of the identity provider: what stands before /auth/realms", isRequired: true },
  realm: { help: "its realm", isRequired: true },
  clientId: { help: "the client at the identity provider", isRequired: true },
  clientSecret: { help: "its secret", isSecret: true },
  username: { help: "the user that was issued at onboarding", isRequired: true },
  password: { help: "its password", isRequired: true, isSecret: true },
  gatewayId: { help: "the gateway's own id (institutionId)" },
  signingKey: { help: "file of the private key, PEM" },
  ca: { help: "file of the certificates to trust, PEM, in place of the well-known ones" },
  journal: { help: "the journal of flows: a SQLite file, or a postgresql:// URL", isSecret: true },
};

const names = Object.keys(settings) as Name[];

/** Options of commands that call the service: one for each setting that is no secret, and the file. */
export const settingOptions: Readonly<Record<string, CommandOption>> = {
  config: {
    type: "string",
    value: "FILE",
    help: "a JSON object with these settings, secrets too; CROSS_BORDER_CONFIG",
  },
  ...Object.fromEntries(
    names
      .filter((name) => settings[name].isSecret !== true)
      .map((name): [string, CommandOption] => {
        const help = `${settings[name].help}; ${variableOf(name)}`;
        return [optionOf(name), { type: "string", value: "TEXT", help }];
      }),
  ),
};

/**
 * The settings: an option counts more than a variable of the environment, and that more than the file.
 *
 * @throws {UsageError} that names what is missing, and where it can come from.
 */
export async function readSettings(values: Readonly<Record<string, unknown>>, terminal: Terminal): Promise<Settings> {
  const required = names.filter((name) => settings[name].isRequired);
  return (await readSomeSettings(values, terminal, required)) as Settings;
}

/** The same for commands that need others. @throws {UsageError} where one of `needed` is missing. */
export async function readSomeSettings<Needed extends Name>(
  values: Readonly<Record<string, unknown>>,
  terminal: Terminal,
  needed: readonly Needed[],
): Promise<Partial<Settings> & Required<Pick<Settings, Needed>>> {
  const { env } = terminal;
  const file = text(values.config) ?? env.CROSS_BORDER_CONFIG;
  const stored = file === undefined ? {} : await readFile(file, terminal);
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const { isSecret } = settings[name];
    const given = isSecret ? undefined : text(values[optionOf(name)]);
    const known = given ?? env[variableOf(name)] ?? stored[name];
    const isNeeded = needed.some((one) => one === name);
    const value = known ?? (isNeeded && isSecret ? await terminal.ask?.(questionOf(name, found)) : undefined);
    if (value !== undefined) found[name] = value;
    else if (isNeeded) throw new UsageError(`${name} is missing: give it by ${sourcesOf(name)}`);
  }
  return found as Partial<Settings> & Required<Pick<Settings, Needed>>;
}

function questionOf(name: Name, { username }: Partial<Settings>): string {
  return username === undefined ? `${name}: ` : `${name} of ${username}: `;
}

function sourcesOf(name: Name): string {
  const sources = [variableOf(name), "a file (--config)"];
  if (settings[name].isSecret) return [...sources, "type it at a terminal"].join(", or ");
  return [`--${optionOf(name)}`, ...sources].join(", or ");
}

async function readFile(file: string, terminal: Terminal): Promise<Partial<Record<Name, string>>> {
  const stored = parseObject(await readText(file, terminal));
  if (stored === undefined) {
    throw new InvalidArgumentError(`${file} is not a JSON object of settings`);
  }
  for (const [name, value] of Object.entries(stored)) {
    if (!Object.hasOwn(settings, name)) {
      throw new InvalidArgumentError(
        `${file}: there is no setting ${JSON.stringify(name)}; there are ${names.join(", ")}`,
      );
    }
    if (typeof value !== "string") throw new InvalidArgumentError(`${file}: ${name} is no text`);
  }
  return stored as Partial<Record<Name, string>>;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** `base-url` of `baseUrl`. */
function optionOf(name: Name): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `CROSS_BORDER_BASE_URL` of `baseUrl`. */
function variableOf(name: Name): string {
  return `CROSS_BORDER_${optionOf(name).replaceAll("-", "_").toUpperCase()}`;
}
