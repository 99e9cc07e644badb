import { type FileHandle, open } from "node:fs/promises";
import { CrossBorderClient } from "../../client.js";
import { ConfigError } from "../../core/errors.js";
import { type FlowContext, toOperatorContext } from "../../flows/context.js";
import type { Journal } from "../../flows/index.js";
import { PostgresJournal } from "../../journals/postgres-journal.js";
import { type CommandOptions, UsageError } from "../command.js";
import { readSomeSettings, type Settings, settingOptions } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { loadCipher } from "./load-cipher.js";
import { type OpenJournal, openSqliteFile } from "./sqlite-file.js";

const { config, profile, "base-url": baseUrl, "gateway-id": gatewayId } = settingOptions;

/** Which flows are meant, and where they are kept. */
export const journalOptions = {
  journal: {
    type: "string",
    value: "FILE|URL",
    help: "where flows are kept: a SQLite file, or postgresql://… without a password; CROSS_BORDER_JOURNAL, which may have one",
  },
  service: {
    type: "string",
    value: "NAME",
    help: "the service's flows, if the program sets the option service; the host of the base URL unless given",
  },
  schema: { type: "string", value: "NAME", help: "of the PostgreSQL journal, if it isn't public" },
  table: { type: "string", value: "NAME", help: "of the PostgreSQL journal, if it isn't cross_border_flows" },
  processes: { type: "string", value: "many|one", help: "as the service opens its SQLite file; many unless given" },
  cipher: {
    type: "string",
    value: "MODULE",
    help: "JavaScript that exports encrypt and decrypt, if the program has a cipher; it is run",
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
  /** Settings that are needed. By default the base URL, unless the service is named. */
  readonly needed?: readonly (keyof Settings)[];
}

/** Opens the journal, never to migrate it: a service of an older release may work on it. */
export async function openFlows(
  values: Values,
  terminal: Terminal,
  { connect = offline, needed = [] }: OpenOptions = {},
): Promise<OpenFlows> {
  const service = typeof values.service === "string" ? values.service : undefined;
  const isAddressNeeded = service === undefined || connect !== offline;
  const settings = await readSomeSettings(values, terminal, [
    ...(isAddressNeeded ? ["baseUrl" as const] : []),
    ...needed,
  ]);
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
    const options = { journal, service, gatewayId, cipher, decisions: { people: peopleOf(settings) } };
    const context = toOperatorContext({ client, owner: "cross-border", ...options, ...bank });
    return { context, journal, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function offline({ baseUrl = "https://offline.invalid" }: Partial<Settings>): Promise<CrossBorderClient> {
  const accessToken = () => {
    throw new ConfigError("this command sends nothing");
  };
  return new CrossBorderClient({ baseUrl, auth: { accessToken } });
}

/** Not an option: otherwise the person who decides could choose it. @throws {UsageError} */
function peopleOf({ people = "1" }: Partial<Settings>): 1 | 2 {
  if (people === "1" || people === "2") return people === "1" ? 1 : 2;
  throw new UsageError("people is 1 or 2: see CROSS_BORDER_PEOPLE, or the file (--config)");
}

function refuseMoney(): never {
  throw new ConfigError("the command moves no money: the program that works on the flow does that");
}

/** @throws {UsageError} if no journal is named, or a password is on the command line. */
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
 * Opening a missing file creates it, and gives another program's database a write-ahead log.
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
  // See "The Database Header" of SQLite's file format: its 18th byte is 2 if the file has a write-ahead log, as journals do.
  const isWithLog = header.toString("latin1", 0, 16) === "SQLite format 3\0" && header[18] === 2;
  if (!isWithLog) throw new ConfigError(`${path} isn't a journal of flows: SqliteJournal didn't create it`);
}
