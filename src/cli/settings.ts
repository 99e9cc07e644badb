import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { TextDecoder } from "node:util";
import { Option } from "commander";
import { CrossBorderClient } from "../client.js";
import { InvalidArgumentError } from "../core/errors.js";
import { readConnection } from "../settings/connection.js";
import {
  authOf,
  fromEnvironment,
  parseSettings,
  readSettingsFile,
  type SettingName,
  type Settings,
  settingNames,
  settingTable,
  variableOf,
} from "../settings/settings.js";
import type { SigningKey } from "../signing/keys.js";
import { printable, type Terminal, UsageError } from "./terminal.js";

/** The bytes of a file, or of stdin if it is `-`. */
export async function readBytes(path: string, terminal: Terminal): Promise<Uint8Array> {
  return path === "-" ? buffer(readStdin(terminal)) : readFile(path);
}

function readStdin({ stdin, stderr, ask }: Terminal): Terminal["stdin"] {
  if (ask !== undefined) stderr.write("cross-border: reading what you type; Ctrl-D ends it\n");
  return stdin;
}

/** The text of a file, without the line break that editors put at its end. */
export async function readText(path: string, terminal: Terminal): Promise<string> {
  return Buffer.from(await readBytes(path, terminal))
    .toString("utf8")
    .trim();
}

/**
 * The lines of a file. Only line feeds end a line: JSON may hold U+2028, at which `node:readline` splits.
 *
 * @throws {InvalidArgumentError} if it isn't UTF-8.
 */
export async function* readLines(path: string, terminal: Terminal): AsyncGenerator<string, void> {
  const input = path === "-" ? readStdin(terminal) : createReadStream(path);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  try {
    for await (const bytes of input) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    rest += decoder.decode();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new InvalidArgumentError(`${path === "-" ? "stdin" : path} is not UTF-8`, { cause });
  }
  if (rest !== "") yield rest;
}

export type { Settings };

/** The options of the program, which every command has. */
export interface ConnectionOptions extends Partial<Settings> {
  readonly config?: string;
  readonly profile?: string;
}

/** `--base-url` of `baseUrl`. */
function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** One for each setting that isn't a secret, and the file with all of them. */
export function connectionOptions(): readonly Option[] {
  const ofSettings = settingNames
    .filter((name) => settingTable[name].isSecret !== true)
    .map((name) => {
      const { help, isPath } = settingTable[name];
      const option = new Option(`${flagOf(name)} <${isPath ? "file" : "text"}>`, `${help}; ${variableOf(name)}`);
      // `--no-proxy` takes a value. It isn't the opposite of `--proxy`.
      option.negate = false;
      return option;
    });
  return [
    new Option("--config <file>", "JSON file with these settings, secrets included; CROSS_BORDER_CONFIG"),
    new Option(
      "--profile <name>",
      "~/.config/cross-border/NAME.json; CROSS_BORDER_PROFILE, by default default",
    ).conflicts("config"),
    ...ofSettings,
    new Option("--no-service-text", "don't show the service's own error message at a terminal"),
  ];
}

const required = settingNames.filter((name) => settingTable[name].isRequired);

/**
 * The settings. An option counts more than a variable, and a variable more than the file.
 *
 * @param needed what is missing of these is asked for if it is a secret, and is an error otherwise. By default what a login needs.
 * @throws {UsageError} that names the missing setting, and how to give it.
 */
export async function readSettings(
  options: ConnectionOptions,
  terminal: Terminal,
  needed: readonly SettingName[] = required,
): Promise<Settings> {
  if (options.proxy?.includes("@")) {
    throw new UsageError(
      "--proxy has a user or a password, which other users of this machine can see. Give it in CROSS_BORDER_PROXY or in a file (--config)",
    );
  }
  const stored = await readStored(options, terminal);
  const found: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const given = options[name] ?? fromEnvironment(terminal.env, variableOf(name)) ?? stored[name];
    const isMissing = given === undefined && needed.includes(name);
    const whose = found.username === undefined ? "" : ` of ${printable(found.username)}`;
    const asked = isMissing && settingTable[name].isSecret ? await terminal.ask?.(`${name}${whose}:`) : undefined;
    const value = given ?? asked;
    if (value !== undefined) found[name] = value;
    else if (isMissing) throw new UsageError(`${name} is missing. Give it ${sourcesOf(name)}`);
  }
  // What is needed is there.
  return found as Settings;
}

async function readStored({ config, profile }: ConnectionOptions, terminal: Terminal): Promise<Partial<Settings>> {
  return config === "-"
    ? parseSettings(await readText(config, terminal), config)
    : readSettingsFile({ config, profile }, terminal.env);
}

function sourcesOf(name: SettingName): string {
  const { isSecret } = settingTable[name];
  const sources = [`in ${variableOf(name)}`, "in a file (--config)"];
  return (isSecret ? [...sources, "at a terminal"] : [`as ${flagOf(name)}`, ...sources]).join(", ");
}

/** A client that logs out when it is closed. */
export async function openClient(
  settings: Settings,
  { env }: Terminal,
  more: { readonly maxRetries?: number } = {},
): Promise<CrossBorderClient> {
  const connection = await readConnection(settings, env);
  const auth = { ...authOf(settings), endSessionOnClose: true };
  return new CrossBorderClient({ baseUrl: settings.baseUrl, auth, ...(await connection.clientOptions()), ...more });
}

/**
 * A private key with its passphrase, if it needs one. It is in the environment, or you type it at the terminal.
 *
 * @param file its name.
 * @throws {InvalidArgumentError} if the passphrase is missing.
 */
export async function withPassphrase(pem: string, file: string, { env, ask }: Terminal): Promise<SigningKey> {
  if (!pem.includes("ENCRYPTED")) return pem;
  const passphrase = fromEnvironment(env, "CROSS_BORDER_KEY_PASSPHRASE") ?? (await ask?.(`Passphrase of ${file}:`));
  if (passphrase !== undefined) return { key: pem, passphrase };
  throw new InvalidArgumentError(
    `The key in ${file} is encrypted. Give its passphrase in CROSS_BORDER_KEY_PASSPHRASE or at a terminal`,
  );
}
