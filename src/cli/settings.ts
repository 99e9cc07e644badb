import {
  fromEnvironment,
  parseSettings,
  readSettingsFile,
  type SettingName,
  type Settings,
  settingNames,
  settingTable,
  variableOf,
} from "../settings/settings.js";
import { type CommandOption, UsageError } from "./command.js";
import { readText } from "./files.js";
import { printable } from "./printable.js";
import type { Terminal } from "./terminal.js";

export type { Settings };

/** Options of commands that call the service: one for each setting that is no secret, and the file. */
export const settingOptions: Readonly<Record<string, CommandOption>> = {
  config: {
    type: "string",
    value: "FILE",
    help: "a JSON object with these settings, secrets too; CROSS_BORDER_CONFIG",
  },
  profile: {
    type: "string",
    value: "NAME",
    help: "~/.config/cross-border/NAME.json in place of --config; CROSS_BORDER_PROFILE, or else default",
  },
  "no-service-text": {
    type: "boolean",
    help: "don't show what the service says itself about a failure, which is shown at a terminal alone",
  },
  ...Object.fromEntries(
    settingNames
      .filter((name) => settingTable[name].isSecret !== true)
      .map((name): [string, CommandOption] => {
        const { help, isPath } = settingTable[name];
        const value = isPath === true ? "FILE" : "TEXT";
        return [optionOf(name), { type: "string", value, help: `${help}; ${variableOf(name)}` }];
      }),
  ),
};

/**
 * The settings: an option counts more than a variable of the environment, and that more than the file.
 *
 * @throws {UsageError} that names what is missing, and where it can come from.
 */
export async function readSettings(values: Readonly<Record<string, unknown>>, terminal: Terminal): Promise<Settings> {
  const required = settingNames.filter((name) => settingTable[name].isRequired);
  return (await readSomeSettings(values, terminal, required)) as Settings;
}

/** The same for commands that need others. @throws {UsageError} where one of `needed` is missing. */
export async function readSomeSettings<Needed extends SettingName>(
  values: Readonly<Record<string, unknown>>,
  terminal: Terminal,
  needed: readonly Needed[],
): Promise<Partial<Settings> & Required<Pick<Settings, Needed>>> {
  assertNoPassword(values);
  const { env } = terminal;
  const stored = await readStored(values, terminal);
  const found: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const { isSecret } = settingTable[name];
    const given = isSecret ? undefined : text(values[optionOf(name)]);
    const known = given ?? fromEnvironment(env, variableOf(name)) ?? stored[name];
    const isNeeded = needed.some((one) => one === name);
    const value = known ?? (isNeeded && isSecret ? await terminal.ask?.(questionOf(name, found)) : undefined);
    if (value !== undefined) found[name] = value;
    else if (isNeeded) throw new UsageError(`${name} is missing: give it by ${sourcesOf(name)}`);
  }
  return found as Partial<Settings> & Required<Pick<Settings, Needed>>;
}

async function readStored(values: Readonly<Record<string, unknown>>, terminal: Terminal): Promise<Partial<Settings>> {
  const [config, profile] = [text(values.config), text(values.profile)];
  if (config !== undefined && profile !== undefined) {
    throw new UsageError("--config and --profile exclude each other: both name the file of the settings");
  }
  return config === "-"
    ? parseSettings(await readText(config, terminal), config)
    : readSettingsFile({ config, profile }, terminal.env);
}

/** Refuses a password on the command line, which every process of the machine sees. */
function assertNoPassword({ proxy }: Readonly<Record<string, unknown>>): void {
  if (typeof proxy !== "string" || !proxy.includes("@")) return;
  throw new UsageError(
    "--proxy holds a user or a password, which other users of this machine can see: give it by CROSS_BORDER_PROXY, or a file (--config)",
  );
}

function questionOf(name: SettingName, { username }: Partial<Settings>): string {
  return username === undefined ? `${name}: ` : `${name} of ${printable(username)}: `;
}

function sourcesOf(name: SettingName): string {
  const sources = [variableOf(name), "a file (--config)"];
  if (settingTable[name].isSecret) return [...sources, "type it at a terminal"].join(", or ");
  return [`--${optionOf(name)}`, ...sources].join(", or ");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** `base-url` of `baseUrl`. */
function optionOf(name: SettingName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
