import { readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { counted } from "../../core/describe.js";
import { InvalidArgumentError } from "../../core/errors.js";
import { type SandboxServer, startSandbox } from "../../sandbox/index.js";
import { parseObject } from "../../wire/response.js";
import { action, examples, parsePort } from "../options.js";
import { readText, type Settings } from "../settings.js";
import { asWord, print, rows, styled, type Terminal, toJson } from "../terminal.js";
import { type Gateways, makeGateways, seed } from "./seed.js";

interface Options {
  readonly port: number;
  readonly folder?: string;
  readonly options?: string;
  readonly json?: true;
}

export function addSandbox(program: Command, terminal: Terminal): void {
  const command = program
    .command("sandbox")
    .helpGroup("Sandbox:")
    .summary("run the service in memory, with a console")
    .description(
      "Listens on this machine alone until Ctrl-C or SIGTERM. It has two gateways, a liquidity provider with a rate, and payments. Settings and signing keys of the gateways are in files for --config, which only you can read, and which are removed at the end.",
    )
    .option("--port <port>", "by default a free one", parsePort, 0)
    .option("--folder <folder>", "for settings and keys; by default a temporary one")
    .option("--options <file>", "options of the sandbox as a JSON object, such as quirks (docs/sandbox.md)")
    .option("--json", "print addresses and files as JSON on one line, when it listens")
    .action(action(terminal, runSandbox));
  examples(command, "sandbox", "sandbox --port 4400 --folder my-sandbox", "sandbox --options like-staging.json");
}

async function runSandbox({ port, folder, json, options: file }: Options, terminal: Terminal): Promise<void> {
  const options = file === undefined ? {} : parseObject(await readText(file, terminal));
  if (options === undefined) throw new InvalidArgumentError(`${file} is not a JSON object of the sandbox's options`);
  // From now on Ctrl-C waits until there is something to end.
  const stopped = terminal.untilStopped();
  using files = await openFolder(folder);
  const clock = { agoMs: 0 };
  const gateways = await makeGateways();
  await using server = await startSandbox({
    ...{ ...options, port, host: "127.0.0.1", basePath: "/gateway/v1" },
    console: { signingKeys: gateways.map(({ keys }) => keys.privateKey) },
    now: () => Date.now() - clock.agoMs,
  });
  const seeded = await seed(server, gateways, clock);
  const facts = { ...factsOf(server, gateways, files), ...seeded };
  if (json) print(terminal, toJson(facts));
  else show(facts, terminal);
  await stopped;
}

/** Writes settings and keys for `--config` and `verify`, by gateway. */
function factsOf({ baseUrl, authUrl, consoleUrl, clientOptions }: SandboxServer, gateways: Gateways, files: Folder) {
  const { realm, clientId, username, password } = clientOptions.auth;
  const settings: Record<string, string> = {};
  const trusted: Record<string, string> = {};
  for (const { record, keys } of gateways) {
    const { institutionId: gatewayId } = record;
    const signingKey = files.write(`${gatewayId}.pem`, keys.privateKey);
    const own: Settings = { baseUrl, authUrl, realm, clientId, username, password, gatewayId, signingKey };
    settings[gatewayId] = files.write(`${gatewayId}.json`, own);
    trusted[gatewayId] = keys.publicKey;
  }
  const trustedKeys = files.write("trusted-keys.json", trusted);
  // The process is the one that SIGINT ends.
  return { baseUrl, authUrl, consoleUrl, username, pid: process.pid, folder: files.path, settings, trustedKeys };
}

function show(facts: ReturnType<typeof factsOf> & Awaited<ReturnType<typeof seed>>, terminal: Terminal): void {
  const { settings, liquidityProviderIds, payments } = facts;
  const [config = ""] = Object.values(settings).map(asWord);
  const places: [string, string][] = [
    ["console", `${facts.consoleUrl} (open it in a browser; no login)`],
    ["service", facts.baseUrl],
    ["identity provider", facts.authUrl],
    ["user", `${facts.username}; its password is in the settings`],
    ["settings and keys", `${facts.folder} (removed at the end)`],
  ];
  print(
    terminal,
    styled(terminal, "green", "The sandbox is running. Ctrl-C ends it."),
    "",
    rows(places, terminal.width),
    "",
    `It has the gateways ${Object.keys(settings).join(" and ")}, a liquidity provider with a rate, and ${counted(payments, "payment")}.`,
    "In another terminal:",
    "",
    `  cross-border doctor --config ${config}`,
    `  cross-border payments list --config ${config}`,
    `  cross-border payments list --config ${config} --json | cross-border verify - --trusted-keys ${asWord(facts.trustedKeys)}`,
    `  cross-border exchange-rates list --config ${config} --liquidity-provider ${liquidityProviderIds[0]}`,
  );
}

/** Files of a sandbox, for this user alone, and only while the sandbox runs. */
export interface Folder extends Disposable {
  readonly path: string;
  /** @returns the path of the file. */
  write(name: string, content: string | object): string;
}

/** In a folder that a sandbox writes to. A sandbox that was killed leaves it behind. */
const marker = ".cross-border-sandbox";

/**
 * @param folder by default a new temporary one.
 * @throws {InvalidArgumentError} if the folder has other files, which may be settings of the real service.
 */
export async function openFolder(folder?: string): Promise<Folder> {
  const isNew = folder === undefined || (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
  const path = folder === undefined ? await mkdtemp(join(tmpdir(), "cross-border-sandbox-")) : resolve(folder);
  const present = isNew ? [] : await readdir(path);
  if (present.length > 0 && !present.includes(marker)) {
    throw new InvalidArgumentError(
      `${folder} has files that are not a sandbox's, such as ${present[0]}. Choose another folder`,
    );
  }
  const written: string[] = [];
  const write = (name: string, content: string | object): string => {
    const file = join(path, name);
    // A file of a sandbox that was killed may be there, with other rights.
    rmSync(file, { force: true });
    written.push(file);
    const text = typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`;
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return file;
  };
  /** Other files, and their folder, stay. */
  const remove = (): void => {
    for (const file of written) rmSync(file, { force: true });
    if (isNew && readdirSync(path).length === 0) rmdirSync(path);
  };
  write(marker, "");
  // Also if the process ends because its output can't be written.
  process.once("exit", remove);
  return {
    path,
    write,
    [Symbol.dispose]() {
      process.removeListener("exit", remove);
      remove();
    },
  };
}
