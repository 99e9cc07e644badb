import { randomBytes, randomUUID } from "node:crypto";
import { verifyTokenStore } from "cross-border-payments/testing";
import {
  PostgresTokenStore,
  type PostgresTokenStoreOptions,
  type TokenSchemaOptions,
} from "cross-border-payments/tokens/postgres";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { maxAttempts } from "../../src/journals/postgres-failure.js";

const url = process.env.CBP_POSTGRES_URL ?? "";
const skipped = url === "" ? " (skipped: CBP_POSTGRES_URL is not set, see test/support/postgres.sh)" : "";
if (skipped !== "") process.stdout.write(`PostgresTokenStore is tested with a server only${skipped}\n`);

const encryptionKey = randomBytes(32);

it.each([
  [{ pool: undefined }, "pool must be a Pool of pg"],
  [{ pool: null }, "pool must be a Pool of pg"],
  [{ pool: "postgresql://user:hunter2@host/db" }, "pool must be a Pool of pg"],
  [{ schema: 'a"; DROP TABLE x; --' }, "schema must be 1 to 40 letters"],
  [{ table: "" }, "table must be 1 to 40 letters"],
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

it("tells an administrator what to run, in one transaction", () => {
  expect(PostgresTokenStore.schema()).toBe(`BEGIN;
CREATE SCHEMA IF NOT EXISTS "public";
CREATE TABLE IF NOT EXISTS "public"."cross_border_tokens" (
  key text COLLATE "C" NOT NULL PRIMARY KEY,
  value text COLLATE "C",
  expires_at timestamptz,
  lock_owner text COLLATE "C",
  locked_until timestamptz
);
GRANT USAGE ON SCHEMA "public" TO "payments";
GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."cross_border_tokens" TO "payments";
COMMIT;
`);
});

describe("with a pool that is asked", () => {
  /** A table that is there, and what `answer` says to each statement after that. */
  const asked = (answer: (text: string) => unknown[]) => {
    const texts: string[] = [];
    const pool = {
      query: async (text: string) => {
        if (text.includes("pg_class")) return { rows: [1] };
        texts.push(text.trim().split(/\s/)[0] ?? "");
        return { rows: answer(text) };
      },
    };
    return { store: new PostgresTokenStore({ pool, encryptionKey }), texts };
  };
  const fail = (error: Error): never => {
    throw error;
  };
  const rolledBack = () => Object.assign(new Error("could not serialize access"), { code: "40001" });

  it("runs a statement again that the database has rolled back", async () => {
    let failures = 2;
    const { store, texts } = asked(() => {
      if (failures-- > 0) throw rolledBack();
      return [1];
    });
    expect(await store.lock("key", "owner", 1000)).toBe(true);
    expect(texts).toHaveLength(3);
  });

  it("gives up a statement that is rolled back each time", async () => {
    const { store, texts } = asked(() => {
      throw rolledBack();
    });
    await expect(store.lock("key", "owner", 1000)).rejects.toMatchObject({ code: "40001" });
    expect(texts).toHaveLength(maxAttempts);
  });

  it("runs no statement again that failed in another way: it may have been carried out", async () => {
    const { store, texts } = asked(() => {
      throw new Error("connection lost");
    });
    await expect(store.lock("key", "owner", 1000)).rejects.toThrow("PostgresTokenStore: ");
    expect(texts).toHaveLength(1);
  });

  it.each([
    ["throws", (error: Error): Promise<never> => fail(error)],
    ["rejects", (error: Error): Promise<never> => Promise.reject(error)],
  ])("looks once for its table, and again after a pool that %s has said nothing of it", async (_, refuse) => {
    const texts: string[] = [];
    const lost = new Error("the connection was lost");
    const pool = {
      query: (text: string) => {
        texts.push(text.includes("pg_class") ? "table" : "other");
        return texts.length === 1 || texts.length === 4 ? refuse(lost) : Promise.resolve({ rows: [1] });
      },
    };
    const store = new PostgresTokenStore({ pool, encryptionKey });
    await expect(store.lock("key", "owner", 1000)).rejects.toThrow("PostgresTokenStore: ");
    expect(await store.lock("key", "owner", 1000)).toBe(true);
    await expect(store.lock("key", "owner", 1000)).rejects.toThrow("PostgresTokenStore: ");
    expect(await store.lock("key", "owner", 1000)).toBe(true);
    expect(texts).toEqual(["table", "table", "other", "other", "other"]);
  });

  it("looks for what ended long ago only after it has stored a session", async () => {
    const full = asked(() => []);
    expect(await full.store.write("key", "value", 1000, undefined)).toBe(false);
    expect(full.texts).toEqual(["INSERT", "SELECT"]);
    const empty = asked(() => [1]);
    expect(await empty.store.write("key", "value", 1000, undefined)).toBe(true);
    expect(empty.texts).toEqual(["INSERT", "DELETE"]);
  });

  it("looks for it once an hour, since it reads the whole table", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const { store, texts } = asked(() => [1]);
    for (const passed of [0, 1000, 3_598_999, 1]) {
      vi.advanceTimersByTime(passed);
      await store.write("key", "value", 1000, undefined);
    }
    expect(texts).toEqual(["INSERT", "DELETE", "INSERT", "INSERT", "INSERT", "DELETE"]);
  });
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
    const { held } = await verifyTokenStore(storeOf(), { second: storeOf() });
    expect(held.length).toBeGreaterThan(15);
  });

  it("keeps every law where the database isolates more strictly by default", async () => {
    const strict = new pg.Pool({
      connectionString: url,
      max: 10,
      options: "-c default_transaction_isolation=serializable",
    });
    try {
      const { held } = await verifyTokenStore(storeOf({ pool: strict }), { second: storeOf(), workers: 8 });
      expect(held.length).toBeGreaterThan(15);
    } finally {
      await strict.end();
    }
  });

  it("stores nothing on a connection on which somebody has left a transaction open, and leaves that as it is", async () => {
    const shared = new pg.Pool({ connectionString: url, max: 1 });
    onTestFinished(() => shared.end());
    const [store, key] = [storeOf({ pool: shared }), randomUUID()];
    await store.write(key, "unspent", 60_000, undefined);
    const found = await store.read(key);
    await shared.query("BEGIN");
    const works = [
      () => store.read(key),
      () => store.lock(key, "owner", 60_000),
      () => store.unlock(key, "owner"),
      () => store.write(key, "spent", 60_000, found?.version),
    ];
    for (const work of works) {
      await expect(work()).rejects.toMatchObject({
        code: "IN_TRANSACTION",
        message: expect.stringMatching(/^PostgresTokenStore: a transaction is open on a connection of the pool/),
      });
    }
    expect(await storeOf().lock(key, "other", 60_000)).toBe(true);
    await shared.query("ROLLBACK");
    expect(await storeOf().read(key)).toEqual(found);
    expect(await store.write(key, "spent", 60_000, found?.version)).toBe(true);
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

  it("creates its table again where that was dropped, as where an older copy of the database is restored", async () => {
    const table = `t_${randomBytes(6).toString("hex")}`;
    const store = storeOf({ table });
    await store.write("key", "value", 60_000, undefined);
    await pool.query(`DROP TABLE ${schema}.${table}`);
    expect(await store.read("key")).toBeUndefined();
    expect(await store.lock("key", "owner", 1000)).toBe(true);
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
      const { held } = await verifyTokenStore(storeOf({ pool: limited, schema: own }));
      expect(held.length).toBeGreaterThan(15);
    } finally {
      await limited.end();
      await pool.query(`DROP SCHEMA ${own} CASCADE; DROP ROLE ${role}`);
    }
  });

  it("shows nothing of a value to whoever reads the table", async () => {
    const key = randomUUID();
    await storeOf().write(key, "a-secret-token", 60_000, undefined);
    const { rows } = await pool.query(`SELECT * FROM ${schema}.cross_border_tokens WHERE key = $1`, [key]);
    const { value } = rows[0] as { value: string };
    expect(value.length).toBeGreaterThan(20);
    expect(JSON.stringify(rows) + Buffer.from(value, "base64").toString("latin1")).not.toContain("secret");
  });

  it("reads nothing that was copied to another key", async () => {
    const [from, to] = [randomUUID(), randomUUID()];
    await storeOf().write(from, "value", 60_000, undefined);
    await pool.query(
      `INSERT INTO ${schema}.cross_border_tokens SELECT $2, value, expires_at FROM ${schema}.cross_border_tokens WHERE key = $1`,
      [from, to],
    );
    expect((await storeOf().read(from))?.value).toBe("value");
    expect(await storeOf().read(to)).toBeUndefined();
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

  it("takes a value that is longer than any session for nothing, which it neither fetches nor sends", async () => {
    const [key, table] = [randomUUID(), `${schema}.cross_border_tokens`];
    await storeOf().write(key, "old", 60_000, undefined);
    await pool.query(`UPDATE ${table} SET value = rpad('1.', 20000000, 'A') WHERE key = $1`, [key]);
    const carried: unknown[] = [];
    const counting = {
      query: async (text: string, values?: (string | number | boolean | null)[]) => {
        const { rows } = await pool.query(text, values);
        carried.push(values, rows);
        return { rows };
      },
    };
    const store = storeOf({ pool: counting });
    expect(await store.read(key)).toBeUndefined();
    expect(await store.write(key, "value", 60_000, undefined)).toBe(true);
    expect((await store.read(key))?.value).toBe("value");
    expect(JSON.stringify(carried).length).toBeLessThan(5000);
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
