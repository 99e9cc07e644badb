import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { PostgresTokenStore } from "cross-border-payments/tokens/postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../crash/postgres-server.js";
import { failure } from "../journals/journal-fixture.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const encryptionKey = randomBytes(32);

/** What both report: the code, and what says the cause. */
type Row = readonly [mistake: string, change: (url: URL) => void, code: string, text: RegExp];

const badPort = (url: URL) => {
  url.port = "1";
};
const withTls = (url: URL) => {
  url.search = "?sslmode=verify-full";
};

const plainRows: readonly Row[] = [
  ["no password", (url) => Object.assign(url, { password: "" }), "NO_PASSWORD", /none was given.*PGPASSWORD/],
  ["a wrong password", (url) => Object.assign(url, { password: "x" }), "28P01", /user name or the password/],
  ["a wrong user", (url) => Object.assign(url, { username: "x" }), "28P01", /user name or the password/],
  ["a database that doesn't exist", (url) => Object.assign(url, { pathname: "/x" }), "3D000", /doesn't exist/],
  ["TLS that the server doesn't have", withTls, "NO_TLS", /doesn't use TLS/],
  ["a port where nothing listens", badPort, "ECONNREFUSED", /nothing listens/],
  ["a host that doesn't exist", (url) => Object.assign(url, { hostname: "x.invalid" }), "E", /can't be resolved/],
  [
    "an authority's file that is missing",
    (url) => Object.assign(url, { search: "?sslmode=verify-full&sslrootcert=/x.pem" }),
    "ENOENT",
    /sslrootcert/,
  ],
];
const tlsRows: readonly Row[] = [
  ["a certificate that is not trusted", withTls, "DEPTH_ZERO_SELF_SIGNED_CERT", /sslrootcert=FILE/],
  [
    "a certificate for another host",
    (url) => Object.assign(url, { search: "?sslmode=verify-full&sslrootcert=server.crt" }),
    "ERR_TLS_CERT_ALTNAME_INVALID",
    /another host/,
  ],
  ["no TLS where the server requires it", () => {}, "28000", /without TLS/],
];

describe.skipIf(process.env.CBP_POSTGRES_URL === undefined)("with a server", () => {
  let plain: PostgresServer;
  let encrypted: PostgresServer;
  const certificate = join(temporaryFolder(), "server.crt");
  beforeAll(async () => {
    [plain, encrypted] = await Promise.all([PostgresServer.start(), PostgresServer.start()]);
    writeFileSync(certificate, await requireTls(encrypted.url));
  }, 60_000);
  afterAll(async () => {
    await plain?.[Symbol.asyncDispose]();
    await encrypted?.[Symbol.asyncDispose]();
  });

  const rows = [
    ...plainRows.map((row) => ({ row, server: () => plain })),
    ...tlsRows.map((row) => ({ row, server: () => encrypted })),
  ];
  it.each(rows.map(({ row, server }) => [row[0], row, server] as const))("tells %s", async (_, row, server) => {
    const [, change, code, text] = row;
    const url = new URL(server().url);
    change(url);
    const address = url.href.replace("sslrootcert=server.crt", `sslrootcert=${encodeURIComponent(certificate)}`);
    const pool = new pg.Pool({ connectionString: address });
    onTestFinished(() => pool.end());
    const coded = expect.stringMatching(code === "E" ? /^(?:ENOTFOUND|EAI_AGAIN)$/ : new RegExp(`^${code}$`));
    for (const place of [address, pool]) {
      const error = await failure(PostgresJournal.open(place));
      expect(error).toMatchObject({ stored: "nothing", message: expect.stringMatching(text), cause: { code: coded } });
      expect(`${error} ${Reflect.get(Object(error), "stack")}`).not.toContain(new URL(plain.url).password);
    }
    const store = new PostgresTokenStore({ pool, encryptionKey });
    expect(await failure(store.read("key"))).toMatchObject({ code: coded, message: expect.stringMatching(text) });
  });

  it("tells a pool that has been ended", async () => {
    const pool = new pg.Pool({ connectionString: plain.url });
    await pool.end();
    const ended = { code: "POOL_ENDED", message: expect.stringMatching(/the pool has been ended/) };
    const { message, code } = ended;
    expect(await failure(PostgresJournal.open(pool))).toMatchObject({ message, cause: { code } });
    expect(await failure(new PostgresTokenStore({ pool, encryptionKey }).read("key"))).toMatchObject(ended);
  });

  it("connects with TLS once its certificate is trusted", async () => {
    const ssl = { ca: readFileSync(certificate, "utf8"), checkServerIdentity: () => undefined };
    const pool = new pg.Pool({ connectionString: encrypted.url, ssl });
    onTestFinished(() => pool.end());
    await (await PostgresJournal.open(pool)).close();
  });
});

it("refuses a Client in place of a Pool, connected or not", async () => {
  const pool = new pg.Client({ connectionString: "postgresql://localhost:1/db" });
  const refusal = { name: "ConfigError", message: expect.stringMatching(/Client/) };
  expect(await failure(PostgresJournal.open(pool as never))).toMatchObject(refusal);
  expect(() => new PostgresTokenStore({ pool, encryptionKey })).toThrow(expect.objectContaining(refusal));
});

/** Gives the server a certificate of its own, and lets nobody in without TLS. The key never leaves the server's folder. */
async function requireTls(url: string): Promise<string> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const run = (command: string) => admin.query(`COPY (SELECT 1) TO PROGRAM '${command}'`);
  const names = "-subj /CN=other.example -addext subjectAltName=DNS:other.example";
  await run(
    `openssl req -x509 -newkey rsa:2048 -nodes -days 2 ${names} -keyout server.key -out server.crt 2>&1 >/dev/null`,
  );
  await run('sed -i "s/^host /hostssl /" pg_hba.conf');
  await admin.query("ALTER SYSTEM SET ssl = on");
  await admin.query("SELECT pg_reload_conf()");
  const { rows } = await admin.query("SELECT pg_read_file('server.crt') AS text");
  await admin.end();
  return rows[0].text;
}
