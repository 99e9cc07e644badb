import { randomBytes } from "node:crypto";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { PostgresTokenStore } from "cross-border-payments/tokens/postgres";
import pg from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import {
  isOfOneStatement,
  maxAttempts,
  postgresFailure,
  retrying,
  tokenStoreFailure,
} from "../../src/journals/postgres-failure.js";
import { migrate } from "../../src/journals/postgres-migrate.js";
import { failure, newLease, scope, state } from "../journals/journal-fixture.js";

const driverError = (code: unknown) => Object.assign(new Error("of CH9300762011623852957"), { code });

/** Codes, what is said of them, what may have been stored, and whether parts of the statement may succeed. */
it.each([
  ["28P01", /user name or the password.*Check both/, "nothing", false],
  ["28000", /doesn't admit this user.*sslmode=verify-full/, "nothing", false],
  ["3D000", /doesn't exist/, "nothing", false],
  ["42P01", /tables are missing.*schema\(\)/, "nothing", true],
  ["42501", /lacks a permission/, "nothing", true],
  ["25006", /read-only/, "nothing", true],
  ["40001", /other transactions were in the way/, "nothing", true],
  ["40003", /other transactions were in the way/, "unknown", false],
  ["53100", /no disk or memory left/, "unknown", false],
  ["53200", /no disk or memory left/, "unknown", false],
  ["53300", /no connections left/, "nothing", false],
  ["57P01", /ended the connection/, "unknown", false],
  ["57P02", /ended the connection/, "unknown", false],
  ["57P03", /ended the connection/, "nothing", false],
  ["57P05", /ended the connection/, "nothing", false],
  ["57014", /was canceled/, "nothing", true],
  ["58030", /the server failed/, "unknown", false],
  ["XX000", /the server failed/, "unknown", false],
  ["08006", /the connection failed/, "unknown", false],
  ["22008", /the database refused/, "nothing", true],
  ["22028", /the database refused/, "nothing", true],
  ["220281", /can't be reached/, "unknown", false],
  ["ECONNREFUSED", /nothing listens/, "nothing", false],
  ["ENOTFOUND", /can't be resolved/, "nothing", false],
  ["ENOENT", /a file .* is missing/, "nothing", false],
  ["CERT_HAS_EXPIRED", /isn't valid/, "nothing", false],
  ["ERR_TLS_CERT_ALTNAME_INVALID", /another host/, "nothing", false],
  ["EPIPE", /can't be reached, or did not respond in time/, "unknown", false],
  ["ECONNRESET", /can't be reached, or did not respond in time/, "unknown", false],
])("tells what %s means, without the driver's text", (code, meaning, stored, isOfOne) => {
  const failed = postgresFailure(driverError(code), "read a flow");
  expect(failed).toMatchObject({ name: "JournalError", stored, message: expect.stringMatching(meaning) });
  expect(failed.message).toMatch(new RegExp(`^PostgresJournal could not read a flow: [^(]+ \\(${code}\\)\\.( |$)`));
  expect(failed.message).not.toContain("undefined");
  expect(failed.cause).toMatchObject({ message: "Error of the database driver", code });
  expect(isOfOneStatement(driverError(code))).toBe(isOfOne);
});

/** Errors of pg that have no code, the code that stands for them, and what may have been stored. */
it.each([
  [new Error("timeout exceeded when trying to connect"), "TIMEOUT", "nothing"],
  [new Error("timeout expired"), "TIMEOUT", "nothing"],
  [new Error("Connection terminated due to connection timeout"), "TIMEOUT", "nothing"],
  [new Error("Query read timeout"), "TIMEOUT", "unknown"],
  [new Error("Connection terminated unexpectedly"), "CLOSED", "unknown"],
  [Object.assign(new Error(""), { errors: [driverError("ECONNREFUSED")] }), "ECONNREFUSED", "nothing"],
  [Object.assign(new Error(""), { errors: [] }), undefined, "unknown"],
  [driverError(7), undefined, "unknown"],
  [null, undefined, "unknown"],
])("gives the driver's %o the code %s", (error, code, stored) => {
  const failed = postgresFailure(error, "read a flow");
  expect(failed).toMatchObject({ stored });
  if (code === undefined)
    expect(failed.message).toMatch(/: the database can't be reached, or did not respond in time\. Check/);
  expect(Reflect.get(Object(failed.cause), "code")).toBe(code);
  expect(Object.hasOwn(Object(failed.cause), "code")).toBe(code !== undefined);
  const ofStore = tokenStoreFailure(error);
  expect(ofStore.cause).toEqual(failed.cause);
  expect(Object.hasOwn(ofStore, "code")).toBe(code !== undefined);
});

it("leaves the library's own errors as they are", () => {
  const own = new ConfigError("mine");
  expect(postgresFailure(own, "read a flow")).toBe(own);
  expect(tokenStoreFailure(own)).toBe(own);
});

it.each([
  ["40001", maxAttempts],
  ["40P01", maxAttempts],
  ["57P05", maxAttempts],
  ["57P01", 1],
  ["40003", 1],
  [undefined, 1],
])("sends again what certainly changed nothing: %s", async (code, attempts) => {
  let sent = 0;
  const send = async () => {
    sent += 1;
    throw driverError(code);
  };
  await expect(retrying(send)).rejects.toMatchObject({ message: driverError(code).message });
  expect(sent).toBe(attempts);
});

it.each([
  ["waits for the lock of a table", Array(9).fill("55P03"), 10, undefined],
  ["doesn't wait for ever", Array(10).fill("55P03"), 10, "55P03"],
  ["fails at once of anything else", ["42501"], 1, "42501"],
])("a migration %s", async (_, codes, attempts, failed) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const query = vi.fn(async () => {
    const code = codes[query.mock.calls.length - 1];
    if (code !== undefined) throw driverError(code);
    return { rows: [] };
  });
  const migrated = migrate({ query }, { schema: "s", table: "t", steps: "" }).then(
    () => undefined,
    (error: unknown) => Reflect.get(Object(error), "code"),
  );
  await vi.advanceTimersByTimeAsync(499);
  expect(query).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([await migrated, query.mock.calls.length]).toEqual([failed, attempts]);
});

it("asks a given pool for tables in the schema public, and says what it could not do", async () => {
  const query = vi.fn(async (text: string): Promise<{ rows: unknown[] }> => {
    if (text.startsWith("SELECT FROM pg_class")) return { rows: [{}] };
    return { rows: [{ version: 4, oldest_writer: 4, commits: "on" }] };
  });
  const journal = await PostgresJournal.open({ query });
  expect(query.mock.calls.join()).toContain('\'"public"."cross_border_flows"\'::regclass');
  query.mockImplementation(async () => ({ rows: [] }));
  const begun = (data: string) => failure(journal.begin("k", scope, { ...state, data }, newLease()));
  expect(await begun("")).toMatchObject({ name: "JournalError", message: expect.stringMatching(/free again/) });
  for (const data of ["\0", "\ud800"]) {
    expect(await begun(data)).toMatchObject({
      name: "InvalidArgumentError",
      message: expect.stringMatching(/U\+0000/),
    });
  }
  const written = journal.write("k", { epoch: 1, nonce: "n", revision: 1 }, { ...state, data: "\0" });
  expect(await failure(written)).toMatchObject({ name: "InvalidArgumentError" });
  query.mockRejectedValue(driverError("42501"));
  const message = expect.stringMatching(/^PostgresJournal could not list flows: /);
  expect(await failure(journal.list({ scope, limit: 1 }))).toMatchObject({ stored: "nothing", message });
});

it("says that the package pg is missing", async () => {
  vi.doMock("pg", () => {
    throw new Error("not found");
  });
  onTestFinished(() => vi.doUnmock("pg"));
  const error = await failure(PostgresJournal.open("postgresql://localhost:1/db"));
  expect(error).toMatchObject({ name: "ConfigError", message: expect.stringMatching(/npm install pg/) });
  expect(error).toHaveProperty("cause");
});

const address = process.env.CBP_POSTGRES_URL ?? "";

describe.skipIf(address === "")("with a server", () => {
  it.each<[mistake: string, change: Partial<URL>, code: RegExp, text: RegExp]>([
    ["no password", { password: "" }, /^NO_PASSWORD$/, /none was given.*PGPASSWORD/],
    ["a wrong password", { password: "x" }, /^28P01$/, /user name or the password/],
    ["a database that doesn't exist", { pathname: "/x" }, /^3D000$/, /doesn't exist/],
    ["TLS that the server doesn't have", { search: "?sslmode=verify-full" }, /^NO_TLS$/, /doesn't use TLS/],
    ["a port where nothing listens", { port: "1" }, /^ECONNREFUSED$/, /nothing listens/],
    ["a host that doesn't exist", { hostname: "x.invalid" }, /^(?:ENOTFOUND|EAI_AGAIN)$/, /can't be resolved/],
    ["a missing file", { search: "?sslmode=verify-full&sslrootcert=/x.pem" }, /^ENOENT$/, /sslrootcert/],
  ])("tells %s, by a URL and a pool, in both stores", async (_, change, code, text) => {
    const url = Object.assign(new URL(address), change);
    const pool = new pg.Pool({ connectionString: url.href });
    onTestFinished(() => pool.end());
    for (const place of [url.href, pool]) {
      const error = await failure(PostgresJournal.open(place));
      const cause = { code: expect.stringMatching(code) };
      expect(error).toMatchObject({ stored: "nothing", message: expect.stringMatching(text), cause });
      expect(`${error} ${Reflect.get(Object(error), "stack")}`).not.toContain(new URL(address).password);
    }
    const store = new PostgresTokenStore({ pool, encryptionKey: randomBytes(32) });
    const told = { code: expect.stringMatching(code), message: expect.stringMatching(text) };
    expect(await failure(store.read("key"))).toMatchObject(told);
  });

  it("tells a pool that has been ended", async () => {
    const pool = new pg.Pool({ connectionString: address });
    await pool.end();
    expect(await failure(PostgresJournal.open(pool))).toMatchObject({
      message: expect.stringMatching(/^PostgresJournal could not open the journal: /),
      cause: { code: "POOL_ENDED" },
    });
  });
});

it("refuses a Client in place of a Pool", async () => {
  const pool = new pg.Client({ connectionString: "postgresql://localhost:1/db" });
  const refusal = { name: "ConfigError", message: expect.stringMatching(/Client/) };
  expect(await failure(PostgresJournal.open(pool as never))).toMatchObject(refusal);
  const encryptionKey = randomBytes(32);
  expect(() => new PostgresTokenStore({ pool, encryptionKey })).toThrow(expect.objectContaining(refusal));
});
