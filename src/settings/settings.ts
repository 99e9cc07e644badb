import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describeName } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
import { parseObject } from "../wire/response.js";

/** The option `auth` of a client. */
export function authOf({ authUrl, realm, clientId, clientSecret, username, password }: Settings) {
  return { authUrl, realm, clientId, username, password, ...(clientSecret !== undefined && { clientSecret }) };
}

export interface Setting {
  readonly help: string;
  readonly isRequired?: true;
  /** Never from the command line, which others can see. */
  readonly isSecret?: true;
  /** A path. In a settings file, it is relative to the folder of that file. */
  readonly isPath?: true;
}

/** Every setting, in the order of the help and of docs/command.md. */
const table = {
  baseUrl: { help: "address of the service, with its base path", isRequired: true },
  authUrl: { help: "address of the identity provider, without /auth/realms", isRequired: true },
  realm: { help: "realm at the identity provider", isRequired: true },
  clientId: { help: "client id at the identity provider", isRequired: true },
  clientSecret: { help: "secret of the client", isSecret: true },
  username: { help: "user name from your onboarding", isRequired: true },
  password: { help: "password of the user", isRequired: true, isSecret: true },
  gatewayId: { help: "institutionId of the gateway" },
  signingKey: { help: "private key file, PEM", isPath: true },
  ca: { help: "file of trusted certificates, PEM, instead of the well-known ones", isPath: true },
  cert: { help: "certificate file for mutual TLS, PEM (requires key)", isPath: true },
  key: { help: "private key file of cert, PEM", isPath: true },
  proxy: { help: "http:// or https:// address of the proxy (a password only in the variable or the file)" },
  noProxy: { help: "hosts to reach without the proxy, separated by commas" },
  people: { help: "people that a decision about a flow takes, 1 or 2", isSecret: true },
  journal: { help: "journal of flows, a SQLite file or a postgresql:// URL", isSecret: true },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof table;
type Required = { [N in SettingName]: (typeof table)[N] extends { isRequired: true } ? N : never }[SettingName];

/** What the CLI and a program need to call the service. */
export type Settings = Readonly<Record<Required, string> & Partial<Record<SettingName, string>>>;

export const settingTable: Readonly<Record<SettingName, Setting>> = table;

export const settingNames = Object.keys(settingTable) as SettingName[];

/** `CROSS_BORDER_BASE_URL` of `baseUrl`. */
export function variableOf(name: SettingName): string {
  return `CROSS_BORDER_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable is unset, as deployments write it. */
export function fromEnvironment(env: Environment, variable: string): string | undefined {
  return env[variable] || undefined;
}

/** The sources of the settings. */
export interface SettingsSource {
  /** The settings file. Default: `CROSS_BORDER_CONFIG`, or else the file of the profile. */
  readonly config?: string | undefined;
  /** `NAME` of `~/.config/cross-border/NAME.json`. Default: `CROSS_BORDER_PROFILE`, or else `default`, if that file exists. */
  readonly profile?: string | undefined;
  /** Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * The settings of the named file or profile, or else of `CROSS_BORDER_CONFIG` or `CROSS_BORDER_PROFILE`, or else of the user's `default.json`,
 * if it exists.
 *
 * @throws {ConfigError} if it can't be used.
 */
export async function readSettingsFile(
  { config, profile }: SettingsSource,
  env: Environment,
): Promise<Partial<Settings>> {
  if (config !== undefined && profile !== undefined) {
    throw new ConfigError("config and profile exclude each other: both name the settings file");
  }
  const file = config ?? (profile === undefined ? fromEnvironment(env, "CROSS_BORDER_CONFIG") : undefined);
  if (file !== undefined) return parseSettings(await readFile(file, "utf8"), file);
  const name = profile ?? fromEnvironment(env, "CROSS_BORDER_PROFILE");
  try {
    const path = profilePath(name ?? "default", env);
    await assertPrivate(path);
    return parseSettings(await readFile(path, "utf8"), path);
  } catch (error) {
    if (name === undefined && isMissing(error)) return {};
    throw error;
  }
}

/** Whether the file or the user's home is missing, or belongs to another user, as if `HOME` was inherited. */
function isMissing(error: unknown): boolean {
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  return ["ENOENT", "ENOTDIR", "ERR_SYSTEM_ERROR"].includes(code) || (code === "EACCES" && syscall === "stat");
}

/** `$XDG_CONFIG_HOME/cross-border/NAME.json`, by default below `~/.config`. */
function profilePath(name: string, { XDG_CONFIG_HOME, HOME }: Environment): string {
  if (!/^[\w-][\w.-]{0,63}$/.test(name)) throw new ConfigError("a profile's name has letters, digits, _, . and - only");
  return join(XDG_CONFIG_HOME || join(HOME || userInfo().homedir, ".config"), "cross-border", `${name}.json`);
}

/** A file that is used without being named must not be writable or readable by others. */
async function assertPrivate(path: string): Promise<void> {
  const { mode } = await stat(path);
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new ConfigError(`others can read or change ${path}, and credentials may be in it; run: chmod 600 ${path}`);
  }
}

/**
 * The settings of a file's text. Paths in it are relative to its folder.
 *
 * @param file its name, for messages and for that folder.
 * @throws {ConfigError} if it isn't an object of settings.
 */
export function parseSettings(text: string, file: string): Partial<Settings> {
  const stored = parseObject(text.replace(/^\ufeff/, ""));
  if (stored === undefined) throw new ConfigError(`${file} is not a JSON object of settings`);
  const settings: Partial<Record<SettingName, string>> = {};
  for (const [given, value] of Object.entries(stored)) {
    const name = settingNames.find((one) => one === given);
    if (name === undefined) {
      throw new ConfigError(
        `${file}: unknown setting ${describeName(given)}. The settings are ${settingNames.join(", ")}`,
      );
    }
    if (typeof value !== "string") throw new ConfigError(`${file}: ${name} must be a string, in quotes`);
    const { isPath } = settingTable[name];
    if (!isPath || value !== "") settings[name] = isPath ? resolve(dirname(file), value) : value;
  }
  return settings;
}
