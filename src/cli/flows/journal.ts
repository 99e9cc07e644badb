import { type FileHandle, open } from "node:fs/promises";
import { CrossBorderClient } from "../../client.js";
import { ConfigError } from "../../errors/errors.js";
import type { FlowContext } from "../../flows/flow-context.js";
import { toFlowContext } from "../../flows/flow-options.js";
import type { Journal } from "../../flows/index.js";
import { PostgresJournal } from "../../journals/postgres-journal.js";
import { type CommandOptions, UsageError } from "../command.js";
import { readSomeSettings, type Settings, settingOptions } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { loadCipher } from "./load-cipher.js";
import { type OpenJournal, openSqliteFile } from "./sqlite-file.js";

const { config, profile, "base-url": baseUrl, "gateway-id": gatewayId } = settingOptions;

/** What says which flows are meant, and where they are kept. */
export const journalOptions = {
  journal: {
    type: "string",
    value: "FILE|URL",
    help: "where flows are kept: a SQLite file, or postgresql://… without a password; CROSS_BORDER_JOURNAL, which may have one",
  },
  schema: { type: "string", value: "NAME", help: "of the PostgreSQL journal, where it is not public" },
  table: { type: "string", value: "NAME", help: "of the PostgreSQL journal, where it is not cross_border_flows" },
  processes: { type: "string", value: "many|one", help: "as the service opens its SQLite file; many unless given" },
  cipher: {
    type: "string",
    value: "MODULE",
    help: "JavaScript that exports encrypt and decrypt, where the service has a cipher; it is run",
  },
  ...(config && { config }),
  ...(profile && { profile }),
  ...(baseUrl && { "base-url": baseUrl }),
  ...(gatewayId && { "gateway-id": gatewayId }),
} satisfies CommandOptions;

export interface OpenFlows extends AsyncDisposable {
  readonly context: FlowContext;
  readonly journal: Journal;
}

type Values = Readonly<Record<string, unknown>>;

interface OpenOptions {
  /** Makes the client; by default one that sends nothing. */
  readonly connect?: (settings: Settings) => Promise<CrossBorderClient>;
  /** Settings that are needed besides the service's address. */
  readonly needed?: readonly (keyof Settings)[];
}

/** Opens the journal, never to migrate it: a service of an older release may work on it. */
export async function openFlows(
  values: Values,
  terminal: Terminal,
  { connect = offline, needed = [] }: OpenOptions = {},
): Promise<OpenFlows> {
  const settings = await readSomeSettings(values, terminal, ["baseUrl", ...needed]);
  const place = placeOf(values, settings);
  const cipher = typeof values.cipher === "string" ? await loadCipher(values.cipher) : undefined;
  // `connect` was told what it needs.
  const client = await connect(settings as Settings);
  const { journal, close: closeJournal } = await openJournal(place, values);
  const close = async (): Promise<void> => {
    await client.close();
    await closeJournal();
  };
  try {
    const bank = { takeFunds: refuseMoney, releaseFunds: refuseMoney };
    const { gatewayId } = settings;
    const decisions = { people: peopleOf(settings) };
    const context = toFlowContext({ client, journal, gatewayId, cipher, decisions, owner: "cross-border", ...bank });
    return { context, journal, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function offline({ baseUrl }: Settings): Promise<CrossBorderClient> {
  const accessToken = () => {
    throw new ConfigError("this command sends nothing");
  };
  return new CrossBorderClient({ baseUrl, auth: { accessToken } });
}

/** An option would let the one who decides choose it. @throws {UsageError} */
function peopleOf({ people = "1" }: Partial<Settings>): 1 | 2 {
  if (people === "1" || people === "2") return people === "1" ? 1 : 2;
  throw new UsageError("people is 1 or 2: see CROSS_BORDER_PEOPLE, or the file (--config)");
}

function refuseMoney(): never {
  throw new ConfigError("the command moves no money: the service does that");
}

/** @throws {UsageError} where there is no journal, or a password is on the command line. */
function placeOf({ journal: given }: Values, { journal: set }: Pick<Settings, "journal">): string {
  if (typeof given === "string" && isPostgres(given) && holdsPassword(given)) {
    throw new UsageError(
      "--journal holds a password, which other users of this machine can see: give the URL by CROSS_BORDER_JOURNAL, or a file (--config), or leave the password to ~/.pgpass",
    );
  }
  const place = typeof given === "string" ? given : set;
  if (place !== undefined && place !== "") return place;
  throw new UsageError("journal is missing: give it by --journal, or CROSS_BORDER_JOURNAL, or a file (--config)");
}

function isPostgres(place: string): boolean {
  return /^postgres(?:ql)?:/i.test(place);
}

function holdsPassword(url: string): boolean {
  if (!URL.canParse(url)) return url.includes("@");
  const { password, searchParams } = new URL(url);
  return password !== "" || searchParams.has("password");
}

async function openJournal(place: string, { schema, table, processes }: Values): Promise<OpenJournal> {
  if (processes !== undefined && processes !== "many" && processes !== "one") {
    throw new UsageError("--processes is many or one");
  }
  if (isPostgres(place)) {
    if (processes !== undefined) throw new UsageError("--processes is for a SQLite file");
    const names = {
      ...(typeof schema === "string" && { schema }),
      ...(typeof table === "string" && { table }),
    };
    const journal = await PostgresJournal.open(place, { ...names, migrate: false });
    return { journal, close: () => journal.close() };
  }
  if (schema !== undefined || table !== undefined) throw new UsageError("--schema and --table are for PostgreSQL");
  await assertJournalFile(place);
  return openSqliteFile(place, { migrate: false, ...(processes && { processes }) });
}

/**
 * Opening a file makes it where it is not there, and gives another program's database a write-ahead log before it looks whose it is.
 *
 * @throws {ConfigError} for a file that can't be a journal.
 */
async function assertJournalFile(path: string): Promise<void> {
  const header = Buffer.alloc(20);
  const handle: FileHandle = await open(path, "r");
  try {
    await handle.read(header, 0, header.length, 0);
  } finally {
    await handle.close();
  }
  // See "The Database Header" of SQLite's file format: its 18th byte is 2 where the file has a write-ahead log, as journals do.
  const isWithLog = header.toString("latin1", 0, 16) === "SQLite format 3\0" && header[18] === 2;
  if (!isWithLog) throw new ConfigError(`${path} is no journal of flows: SqliteJournal has not made it`);
}
