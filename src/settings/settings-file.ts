import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describeName } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
import { parseObject } from "../wire/parse-json-object.js";
import { type SettingName, type Settings, settingNames, settingTable } from "./setting-table.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable's value. An empty one is unset, as deployments write it. */
export function fromEnvironment(env: Environment, variable: string): string | undefined {
  return env[variable] || undefined;
}

/** Which settings file is meant. */
export interface FileChoice {
  /** Its path. */
  readonly config?: string | undefined;
  /** Its name in the user's folder of settings. */
  readonly profile?: string | undefined;
}

/**
 * The settings of the file that is chosen by its path or by its name, or else by `CROSS_BORDER_CONFIG` or `CROSS_BORDER_PROFILE`, or else of the user's
 * `default.json`, if it is there.
 *
 * @throws {ConfigError} if it can't be used.
 */
export async function readSettingsFile(choice: FileChoice, env: Environment): Promise<Partial<Settings>> {
  if (choice.config !== undefined && choice.profile !== undefined) {
    throw new ConfigError("config and profile exclude each other: both name the file of the settings");
  }
  const config =
    choice.config ?? (choice.profile === undefined ? fromEnvironment(env, "CROSS_BORDER_CONFIG") : undefined);
  if (config !== undefined) return parseSettings(await readFile(config, "utf8"), config);
  const profile = choice.profile ?? fromEnvironment(env, "CROSS_BORDER_PROFILE");
  try {
    const path = profilePath(profile ?? "default", env);
    await assertPrivate(path);
    return parseSettings(await readFile(path, "utf8"), path);
  } catch (error) {
    if (profile === undefined && isMissing(error)) return {};
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
  const { mode, uid } = await stat(path);
  if (process.platform === "win32") return;
  if (uid !== process.getuid?.() && uid !== 0) throw new ConfigError(`${path} belongs to another user`);
  if ((mode & 0o077) !== 0) {
    throw new ConfigError(`others can read or change ${path}, and credentials may be in it; run: chmod 600 ${path}`);
  }
}

/**
 * The settings of a file's text. Paths in it are relative to its folder.
 *
 * @param file its name; for messages, and for that folder.
 * @throws {ConfigError} if it isn't an object of settings.
 */
export function parseSettings(text: string, file: string): Partial<Settings> {
  const stored = parseObject(text.replace(/^\ufeff/, ""));
  if (stored === undefined) throw new ConfigError(`${file} is not a JSON object of settings`);
  const settings: Partial<Record<SettingName, string>> = {};
  for (const [name, value] of Object.entries(stored)) {
    if (!isSettingName(name)) {
      throw new ConfigError(`${file}: there is no setting ${describeName(name)}; there are ${settingNames.join(", ")}`);
    }
    if (typeof value !== "string") throw new ConfigError(`${file}: ${name} is no text`);
    const { isPath } = settingTable[name];
    if (isPath && value === "") continue;
    settings[name] = isPath ? resolve(dirname(file), value) : value;
  }
  return settings;
}

function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settingTable, name);
}
