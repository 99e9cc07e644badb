import { counted } from "../../core/describe.js";
import { InvalidArgumentError } from "../../core/errors.js";
import { type SandboxOptions, type SandboxServer, startSandbox } from "../../sandbox/index.js";
import { parseObject } from "../../wire/response.js";
import { command, exitCodes } from "../command.js";
import { readText } from "../files.js";
import { wrapped, wrappedCommand } from "../layout.js";
import { portOf } from "../port.js";
import { asWord, toJson } from "../printable.js";
import { program } from "../program.js";
import { print, styled, type Terminal } from "../terminal.js";
import { Recording } from "./recording.js";
import { type Gateways, makeGateways, type Seeded, seed } from "./seed.js";
import { SettingsFiles } from "./settings-files.js";

const basePath = "/gateway/v1";

export const sandboxCommand = command({
  name: "sandbox",
  summary: "Runs the service in memory, with a console, for trying things out.",
  description:
    "It listens on this machine alone until Ctrl-C or SIGTERM. In it are two gateways, liquidity providers, rates and payments. Settings and signing keys of the gateways stand in files for --config, which only you can read, and which are removed in the end.",
  operands: [],
  options: {
    port: { type: "string", value: "PORT", help: "where it listens; one that is free unless given" },
    folder: {
      type: "string",
      value: "FOLDER",
      help: "where settings and keys go; an empty folder, or a new one; unless given a temporary one",
    },
    options: {
      type: "string",
      value: "FILE",
      help: "options of the sandbox, as a JSON object: quirks, for a service like yours, and others (docs/sandbox.md)",
    },
    record: {
      type: "string",
      value: "FILE",
      help: "a new file for requests and responses, one a line, as JSON, without secrets and tokens",
    },
    json: { type: "boolean", help: "addresses and files on one line, as JSON, once it listens" },
  },
  examples: [
    "sandbox",
    "sandbox --port 4400 --folder my-sandbox",
    "sandbox --record requests.ndjson",
    "sandbox --options like-staging.json",
  ],
  async run({ values: { port, folder, record, json, options: file } }, terminal) {
    const listenAt = portOf(port);
    const options = file === undefined ? {} : parseOptionsFile(await readText(file, terminal), file);
    // From now on Ctrl-C waits until there is something to end.
    const stopped = terminal.untilStopped();
    await using files = await SettingsFiles.open(folder);
    const clock = { agoMs: 0 };
    const gateways = await makeGateways();
    await using server = await startSandbox({
      ...options,
      port: listenAt,
      basePath,
      console: { signingKeys: gateways.map(({ keys }) => keys.privateKey) },
      now: () => Date.now() - clock.agoMs,
    });
    const seeded = await seed({ server, clock, gateways });
    using recording = record === undefined ? undefined : new Recording(record);
    if (recording !== undefined) server.sandbox.watch(({ seen }, respond) => recording.record(seen, respond));
    const facts = await factsOf(server, gateways, seeded, files);
    if (json) print(terminal, toJson(facts));
    else show(facts, terminal);
    await Promise.race([stopped, ...(recording === undefined ? [] : [recording.failed])]);
    return exitCodes.done;
  },
});

/** The sandbox checks each of them. @throws {InvalidArgumentError} where the text is no object, or has what the command sets itself. */
function parseOptionsFile(text: string, file: string): SandboxOptions {
  const options = parseObject(text);
  if (options === undefined) throw new InvalidArgumentError(`${file} is not a JSON object of the sandbox's options`);
  const own = ["port", "host", "basePath", "console"].find((name) => Object.hasOwn(options, name));
  if (own !== undefined) throw new InvalidArgumentError(`${file}: the command sets ${own} itself`);
  return options;
}

interface Facts {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly consoleUrl: string | undefined;
  readonly username: string;
  /** Of the process that ends by SIGINT: npx does not pass signals on. */
  readonly pid: number;
  readonly folder: string;
  /** Files for `--config`, by the gateways' ids. */
  readonly settings: Readonly<Record<string, string>>;
  /** The file for `verify --trusted-keys`. */
  readonly trustedKeys: string;
  readonly liquidityProviderIds: readonly string[];
  readonly payments: number;
}

async function factsOf(
  server: SandboxServer,
  gateways: Gateways,
  seeded: Seeded,
  files: SettingsFiles,
): Promise<Facts> {
  const settings: Record<string, string> = {};
  const keys: Record<string, string> = {};
  for (const gateway of gateways) {
    settings[gateway.institutionId] = await files.writeGateway(gateway, server);
    keys[gateway.institutionId] = gateway.keys.publicKey;
  }
  return {
    baseUrl: server.baseUrl,
    authUrl: server.authUrl,
    consoleUrl: server.consoleUrl,
    username: server.clientOptions.auth.username,
    pid: process.pid,
    folder: files.folder,
    settings,
    trustedKeys: await files.write("trusted-keys.json", `${JSON.stringify(keys, null, 2)}\n`),
    liquidityProviderIds: seeded.liquidityProviderIds,
    payments: seeded.payments,
  };
}

function show(facts: Facts, terminal: Terminal): void {
  const gatewayIds = Object.keys(facts.settings);
  const [settings = ""] = Object.values(facts.settings).map(asWord);
  const { width } = terminal;
  const addresses = [
    `console            ${facts.consoleUrl} (open it in a browser; it asks for no login)`,
    `service            ${facts.baseUrl}`,
    `identity provider  ${facts.authUrl}`,
    `user               ${facts.username}; its password is in the settings`,
    `settings and keys  ${facts.folder} (removed in the end)`,
    `process            ${facts.pid}`,
  ];
  const content = `It has the gateways ${gatewayIds.join(" and ")}, ${counted(facts.liquidityProviderIds.length, "liquidity provider")} with rates, and ${counted(facts.payments, "payment")}.`;
  const commands = [
    `doctor --config ${settings}`,
    `payments list --config ${settings}`,
    `payments list --config ${settings} --json | ${program} verify - --trusted-keys ${asWord(facts.trustedKeys)}`,
    `exchange-rates list --config ${settings} --liquidity-provider ${facts.liquidityProviderIds[0]}`,
  ];
  print(
    terminal,
    ...wrapped(styled(terminal, "green", "The sandbox is running. Ctrl-C ends it."), width),
    "",
    ...addresses.flatMap((line) => wrapped(line, width, 2)),
    "",
    ...wrapped(content, width),
    "In another terminal:",
    "",
    ...commands.flatMap((line) => wrappedCommand(`  ${program} ${line}`, width)),
  );
}
