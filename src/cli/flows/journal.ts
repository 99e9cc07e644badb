import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "commander";
import { CrossBorderClient } from "../../client.js";
import { ConfigError, InvalidArgumentError } from "../../core/errors.js";
import { type FlowContext, toOperatorContext } from "../../flows/context.js";
import type { Flow, Resolution } from "../../flows/core/state.js";
import { Driver } from "../../flows/driver.js";
import { FlowCall } from "../../flows/flow-call.js";
import type { FlowCipher } from "../../flows/index.js";
import {
  type FlowApproval,
  type FlowResolution,
  readApproval,
  readProposal,
  readResolution,
} from "../../flows/operate.js";
import { type FlowOperation, FlowPausedError, type ResolveAction, toResult } from "../../flows/outcome.js";
import { countFlows, type FlowDetails, heldFlows, readDetails } from "../../flows/status.js";
import { PostgresJournal } from "../../journals/postgres-journal.js";
import { SqliteJournal } from "../../journals/sqlite-journal.js";
import type { SettingName } from "../../settings/settings.js";
import { type ConnectionOptions, openClient, readSettings } from "../settings.js";
import { Exit, exitCodes, interruption, printableLines, type Terminal, UsageError } from "../terminal.js";

/** Names the journal and the service of flows. */
export interface JournalOptions extends ConnectionOptions {
  readonly service?: string;
  readonly schema?: string;
  readonly table?: string;
  readonly cipher?: string;
}

export function addJournalOptions(command: Command): Command {
  return command
    .option("--journal <place>", "a SQLite file, or postgresql://… without a password; CROSS_BORDER_JOURNAL")
    .option("--service <name>", "the program's option service; by default the host of the base URL")
    .option("--schema <name>", "of a PostgreSQL journal; by default public")
    .option("--table <name>", "of a PostgreSQL journal; by default cross_border_flows")
    .option("--cipher <module>", "JavaScript that exports the program's encrypt and decrypt; it is run");
}

export interface OpenFlows extends AsyncDisposable {
  readonly context: FlowContext;
  readonly operator: ReturnType<typeof operatorOf>;
}

/** Without a `gatewayId`, a gateway's login could decide about flows of another gateway. */
export const neededToDecide: readonly SettingName[] = [
  ...(["baseUrl", "gatewayId", "authUrl", "realm", "clientId", "username", "password"] as const),
];

/**
 * Opens the journal. It never migrates it, since a program of an older release may work on it.
 *
 * @param needed settings that the command needs. If the password isn't one of them, it sends nothing.
 */
export async function openFlows(
  options: JournalOptions,
  terminal: Terminal,
  needed: readonly SettingName[] = [],
): Promise<OpenFlows> {
  const { service, cipher } = options;
  const settings = await readSettings(options, terminal, [
    ...(service === undefined ? ["baseUrl" as const] : []),
    ...needed,
  ]);
  const { gatewayId, people = "1", baseUrl = "https://offline.invalid" } = settings;
  if (people !== "1" && people !== "2") throw new UsageError("people is 1 or 2 (CROSS_BORDER_PEOPLE, or the file)");
  const place = placeOf(options, settings.journal);
  const flowCipher = cipher === undefined ? undefined : await loadCipher(cipher);
  const client = needed.includes("password")
    ? await openClient(settings, terminal)
    : new CrossBorderClient({ baseUrl, auth: { accessToken: refuse } });
  try {
    const journal = await openJournal(place, options);
    const context = toOperatorContext({
      ...{ client, journal, service, gatewayId, owner: "cross-border", cipher: flowCipher },
      // This isn't an option, since the person who decides could choose it.
      ...{ decisions: { people: people === "1" ? 1 : 2 }, takeFunds: refuse, releaseFunds: refuse },
    });
    const dispose = async (): Promise<void> => {
      await client.close();
      await journal.close();
    };
    return { context, operator: operatorOf(context, terminal), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await client.close();
    throw error;
  }
}

function refuse(): never {
  throw new ConfigError("the CLI moves no money: the program that works on the flow does that");
}

/** @throws {UsageError} if no journal is named, or a password is on the command line. */
function placeOf({ journal: given }: JournalOptions, set: string | undefined): string {
  if (given !== undefined && isPostgres(given) && holdsPassword(given)) {
    throw new UsageError(
      "--journal has a password, which other users of this machine can see. Give the URL in CROSS_BORDER_JOURNAL or in a file (--config), or keep the password in ~/.pgpass",
    );
  }
  if (set) return set;
  throw new UsageError("journal is missing. Give it as --journal, in CROSS_BORDER_JOURNAL, or in a file (--config)");
}

function isPostgres(place: string): boolean {
  return /^postgres(?:ql)?:/i.test(place);
}

function holdsPassword(url: string): boolean {
  if (!URL.canParse(url)) return url.includes("@");
  const { password, searchParams } = new URL(url);
  return password !== "" || searchParams.has("password");
}

async function openJournal(place: string, { schema, table }: JournalOptions) {
  if (isPostgres(place)) {
    const names = { ...(schema !== undefined && { schema }), ...(table !== undefined && { table }) };
    return PostgresJournal.open(place, { ...names, migrate: false });
  }
  if (schema !== undefined || table !== undefined) throw new UsageError("--schema and --table are for PostgreSQL");
  // SQLite would create it.
  await access(place);
  return SqliteJournal.open(place, { migrate: false });
}

/** What a module of the program exports as `encrypt` and `decrypt`, or as its default. @throws {UsageError} */
async function loadCipher(path: string): Promise<FlowCipher> {
  const module = await import(pathToFileURL(resolve(path)).href).catch((error: unknown) => {
    throw new UsageError(`--cipher: ${path} can't be loaded: ${String(error)}`);
  });
  const found = module.encrypt === undefined ? module.default : module;
  if (typeof found?.decrypt === "function") return found;
  throw new UsageError(`--cipher: ${path} doesn't export functions encrypt and decrypt`);
}

/** @throws {InvalidArgumentError} if the flow doesn't exist. */
export async function readFlow({ operator }: OpenFlows, key: string): Promise<FlowDetails> {
  const flow = await operator.details(key);
  if (flow === undefined) throw new InvalidArgumentError(`there is no flow with the key ${JSON.stringify(key)}`);
  return flow;
}

/** What was stored, and its revision. */
interface Stored {
  readonly flow: Flow;
  readonly revision: number;
}

/** What the commands and the desk do with flows. */
function operatorOf(context: FlowContext, terminal: Terminal) {
  const store = (operation: FlowOperation, key: string, resolution: Resolution) =>
    storeDecision(context, operation, key, resolution, terminal);
  return {
    people: context.people,
    held: () => heldFlows(context),
    counts: () => countFlows(context),
    details: (key: string) => readDetails(context, key),
    async resolve(key: string, action: ResolveAction, given: FlowResolution) {
      const { decision, revision } = readResolution("resolve", action, given);
      if (context.people > 1) {
        throw new InvalidArgumentError("resolve: a decision takes two people: use flows propose and flows approve", {
          code: "flow_approval_needed",
        });
      }
      return store("resolve", key, { step: "decide", decision, ...(revision !== undefined && { revision }) });
    },
    propose: async (key: string, action: ResolveAction, given: FlowResolution) =>
      store("propose", key, readProposal(action, given)),
    approve: async (key: string, given: FlowApproval) => store("approve", key, readApproval("approve", given)),
    refuse: async (key: string, given: FlowApproval) => store("refuse", key, readApproval("refuse", given)),
  };
}

/** The CLI's own money functions always fail, so the flow stops before money moves. The program that works on it continues. */
async function storeDecision(
  context: FlowContext,
  operation: FlowOperation,
  key: string,
  resolution: Resolution,
  { stderr }: Terminal,
): Promise<Stored> {
  using stop = interruption();
  try {
    const call = new FlowCall({ stop: stop.signal, patienceMs: 0 });
    const driven = await new Driver(context, key, call).run({ kind: "resolve", ...resolution });
    const { result, flow, revision } = driven;
    const isLeft = "paused" in result && (flow?.phase === "refused" || flow?.phase === "funds-requested");
    if (!isLeft) toResult(operation, key, driven);
    if (flow === undefined) throw new Error(`${operation} stored nothing`);
    return { flow, revision };
  } catch (error) {
    if (!stop.signal.aborted || !(error instanceof FlowPausedError)) throw error;
    stderr.write(`cross-border: ${printableLines(error.message)}\n`);
    throw new Exit(exitCodes.interrupted);
  }
}
