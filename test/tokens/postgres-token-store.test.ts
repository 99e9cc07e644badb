import { randomBytes, randomUUID } from "node:crypto";
import { verifyTokenStore } from "cross-border-payments/testing";
import {
  PostgresTokenStore,
  type PostgresTokenStoreOptions,
  type TokenSchemaOptions,
} from "cross-border-payments/tokens/postgres";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";

const url = process.env.CBP_POSTGRES_URL ?? "";
const skipped = url === "" ? " (skipped: CBP_POSTGRES_URL is not set, see test/support/postgres.sh)" : "";
if (skipped !== "") process.stdout.write(`PostgresTokenStore is tested with a server only${skipped}\n`);

const encryptionKey = randomBytes(32);

it.each([
  [{ pool: undefined }, "pool must be a Pool of pg"],
  [{ pool: "postgresql://user:hunter2@host/db" }, "pool must be a Pool of pg"],
  [{ schema: 'a"; DROP TABLE x; --' }, "schema must be 1 to 40 letters"],
  [{ table: "t".repeat(41) }, "table must be 1 to 40 letters"],
  [{ encryptionKey: "hunter2" }, "encryptionKey must be 32 random bytes"],
])("refuses an option that is not what is described (case %#)", (options, message) => {
  const pool = { query: async () => ({ rows: [] }) };
  const given = { pool, encryptionKey, ...options } as unknown as PostgresTokenStoreOptions;
  expect(() => new PostgresTokenStore(given)).toThrow(`PostgresTokenStore: ${message}`);
});

it("refuses a role that could not stand in SQL", () => {
  expect(() => PostgresTokenStore.schema({ role: 'a"b' })).toThrow("PostgresTokenStore: role must be");
  const text = "payments" as TokenSchemaOptions;
  expect(() => PostgresTokenStore.schema(text)).toThrow("PostgresTokenStore: the options must be");
});

describe.skipIf(url === "")(`with a server${skipped}`, () => {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const schema = `test_${randomBytes(6).toString("hex")}`;
  afterAll(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
  });
  const storeOf = (options: Partial<PostgresTokenStoreOptions> = {}) =>
    new PostgresTokenStore({ pool, encryptionKey, schema, ...options });

  it("keeps every law", async () => {
    await verifyTokenStore(storeOf(), { second: storeOf(), shortMs: 1000 });
  });

  it("keeps every law where the database isolates more strictly by default", async () => {
    const strict = new pg.Pool({
      connectionString: url,
      max: 10,
      options: "-c default_transaction_isolation=serializable",
    });
    try {
      await verifyTokenStore(storeOf({ pool: strict }), { second: storeOf(), workers: 8, shortMs: 1000 });
    } finally {
      await strict.end();
    }
  });

  it("creates its table once, however many processes start at once", async () => {
    const table = `t_${randomBytes(6).toString("hex")}`;
    const key = randomUUID();
    const stores = Array.from({ length: 20 }, () => storeOf({ table }));
    const locks = await Promise.all(stores.map((store) => store.lock(key, randomUUID(), 60_000)));
    expect(locks.filter(Boolean)).toHaveLength(1);
  });

  it("tries again to create its table after that failed", async () => {
    let fails = true;
    const failing = {
      query: (text: string, values?: (string | number | boolean | null)[]) =>
        fails ? Promise.reject(new Error("away")) : pool.query(text, values),
    };
    const store = storeOf({ pool: failing });
    await expect(store.read("key")).rejects.toThrow("PostgresTokenStore: ");
    fails = false;
    expect(await store.read("key")).toBeUndefined();
  });

  it("works for a role that may only read and write rows, in a table that the administrator made", async () => {
    const role = `role_${randomBytes(6).toString("hex")}`;
    const own = `${schema}_own`;
    await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'only-for-this-test'`);
    await pool.query(PostgresTokenStore.schema({ schema: own, role }));
    const address = new URL(url);
    address.username = role;
    address.password = "only-for-this-test";
    const limited = new pg.Pool({ connectionString: address.href });
    try {
      await verifyTokenStore(storeOf({ pool: limited, schema: own }), { shortMs: 1000 });
    } finally {
      await limited.end();
      await pool.query(`DROP SCHEMA ${own} CASCADE; DROP ROLE ${role}`);
    }
  });

  it("takes what it can't read for nothing, and replaces it once", async () => {
    const key = randomUUID();
    await storeOf({ encryptionKey: randomBytes(32) }).write(key, "old", 60_000, undefined);
    const store = storeOf();
    expect(await store.read(key)).toBeUndefined();
    const writes = await Promise.all([1, 2, 3].map(() => store.write(key, "new", 60_000, undefined)));
    expect(writes.filter(Boolean)).toHaveLength(1);
    expect((await store.read(key))?.value).toBe("new");
  });

  it("removes what ended long ago", async () => {
    const [old, key] = [randomUUID(), randomUUID()];
    const table = `${schema}.cross_border_tokens`;
    await storeOf().write(old, "value", 60_000, undefined);
    await pool.query(`UPDATE ${table} SET expires_at = now() - interval '2 days' WHERE key = $1`, [old]);
    await storeOf().write(key, "value", 60_000, undefined);
    await expect
      .poll(async () => (await pool.query(`SELECT 1 FROM ${table} WHERE key = $1`, [old])).rows.length)
      .toBe(0);
    expect((await storeOf().read(key))?.value).toBe("value");
  });
});
