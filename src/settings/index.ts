import { readFile } from "node:fs/promises";
import type { ClientOptions } from "../client-options.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isText, parseOptions } from "../core/parse.js";
import { readConnection } from "./connection.js";
import {
  authOf,
  fromEnvironment,
  readSettingsFile,
  type SettingName,
  type Settings,
  settingNames,
  settingTable,
  variableOf,
} from "./settings.js";

/** Where settings come from. */
export interface SettingsSource {
  /** The settings file. Default: `CROSS_BORDER_CONFIG`, or else the file of the profile. */
  readonly config?: string | undefined;
  /** `NAME` of `~/.config/cross-border/NAME.json`. Default: `CROSS_BORDER_PROFILE`, or else `default`, if that file is there. */
  readonly profile?: string | undefined;
  /** Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

const path = { accepts: isText, wanted: "a text that is not empty" };
const sourceOptions: CheckTable<SettingsSource> = {
  config: path,
  profile: path,
  env: { accepts: (value) => typeof value === "object" && value !== null, wanted: "an object of variables" },
};

/**
 * The options of a client, from the same file and the same environment that the command `cross-border` reads: address, credentials, signing
 * key, certificates and proxy. A variable such as `CROSS_BORDER_BASE_URL` counts more than the file. Only Node.
 *
 * Certificates and keys are read once, here. With a proxy, `dispatcher` of the options leads through it.
 *
 * @throws {ConfigError} that names what is missing or wrong, never a secret.
 */
export async function readSettings(source: SettingsSource = {}): Promise<ClientOptions> {
  const refuse = (message: string) => new ConfigError(`readSettings: ${message}`);
  const read: SettingsSource = parseOptions(sourceOptions, source, "the options", refuse);
  const { env = process.env } = read;
  const settings = await collect(read, env);
  const missing = settingNames.filter((name) => settingTable[name].isRequired && settings[name] === undefined);
  if (missing.length > 0) {
    const named = missing.map((name) => `${name} (${variableOf(name)})`).join(", ");
    throw new ConfigError(`settings are missing: ${named}. Give them in the environment, or in the settings file`);
  }
  // All that are required are there.
  return toOptions(settings as Settings, env);
}

async function collect(source: SettingsSource, env: NodeJS.ProcessEnv): Promise<Partial<Settings>> {
  const stored = await foreignErrors(() => readSettingsFile(source, env));
  const found: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const value = fromEnvironment(env, variableOf(name)) ?? stored[name];
    if (value !== undefined) found[name] = value;
  }
  return found;
}

async function toOptions(settings: Settings, env: NodeJS.ProcessEnv): Promise<ClientOptions> {
  const { baseUrl, signingKey } = settings;
  const passphrase = fromEnvironment(env, "CROSS_BORDER_KEY_PASSPHRASE");
  return foreignErrors(async () => {
    const connection = await readConnection(settings, env);
    const key = signingKey === undefined ? undefined : await readFile(signingKey, "utf8");
    const isEncrypted = key !== undefined && /ENCRYPTED/.test(key) && passphrase !== undefined;
    return {
      ...{ baseUrl, auth: authOf(settings) },
      ...(key !== undefined && { signingKey: isEncrypted ? { key, passphrase } : key }),
      ...(await connection.clientOptions()),
    };
  });
}

/** A file that is not there, say. */
async function foreignErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`settings can't be read: ${(error as Error).message}`, { cause: error });
  }
}
