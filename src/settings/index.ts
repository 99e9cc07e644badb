import { readFile } from "node:fs/promises";
import type { ClientOptions } from "../client-options.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isText, parseOptions } from "../core/parse.js";
import { readConnection } from "./connection.js";
import {
  authOf,
  type Environment,
  fromEnvironment,
  readSettingsFile,
  type Settings,
  type SettingsSource,
  settingNames,
  settingTable,
  variableOf,
} from "./settings.js";

export type { SettingsSource };

const path = { accepts: isText, expected: "a string that is not empty" };
const sourceOptions: CheckTable<SettingsSource> = {
  config: path,
  profile: path,
  env: { accepts: (value) => typeof value === "object" && value !== null, expected: "an object of variables" },
};

/**
 * Reads a client's options from the file and the environment that the CLI reads: address, credentials, signing key, certificates, and
 * proxy. A variable such as `CROSS_BORDER_BASE_URL` takes precedence over the file. Only Node.
 *
 * Certificates and keys are read once. With a proxy, the options have a `dispatcher` that uses it.
 *
 * @throws {ConfigError} that names what is missing or wrong, never a secret.
 */
export async function readSettings(source: SettingsSource = {}): Promise<ClientOptions> {
  const refuse = (message: string) => new ConfigError(`readSettings: ${message}`);
  const read: SettingsSource = parseOptions(sourceOptions, source, "the options", refuse);
  try {
    return await readOptions(read, read.env ?? process.env);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    // A file is missing, for example.
    throw new ConfigError(`settings can't be read: ${(error as Error).message}`, { cause: error });
  }
}

async function readOptions(source: SettingsSource, env: Environment): Promise<ClientOptions> {
  const stored = await readSettingsFile(source, env);
  const values = settingNames.map((name) => [name, fromEnvironment(env, variableOf(name)) ?? stored[name]] as const);
  const missing = values.filter(([name, value]) => settingTable[name].isRequired && value === undefined);
  if (missing.length > 0) {
    const named = missing.map(([name]) => `${name} (${variableOf(name)})`).join(", ");
    throw new ConfigError(`settings are missing: ${named}. Set them in the environment or in the settings file`);
  }
  const settings = Object.fromEntries(values.filter(([, value]) => value !== undefined)) as unknown as Settings;
  const { baseUrl, signingKey } = settings;
  const key = signingKey && (await readFile(signingKey, "utf8"));
  const passphrase = fromEnvironment(env, "CROSS_BORDER_KEY_PASSPHRASE");
  const connection = await readConnection(settings, env);
  return {
    baseUrl,
    auth: authOf(settings),
    ...(key !== undefined && { signingKey: passphrase === undefined ? key : { key, passphrase } }),
    ...(await connection.clientOptions()),
  };
}
