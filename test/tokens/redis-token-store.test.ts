import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createClient, RESP_TYPES } from "@redis/client";
import { ConfigError } from "cross-border-payments";
import { verifyTokenStore } from "cross-border-payments/testing";
import { RedisTokenStore, type RedisTokenStoreOptions } from "cross-border-payments/tokens/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

const url = process.env.CBP_REDIS_URL ?? "";
const skipped = url === "" ? " (skipped: CBP_REDIS_URL is not set, see test/support/redis.sh)" : "";
if (skipped !== "") process.stdout.write(`RedisTokenStore is tested with a server only${skipped}\n`);

const encryptionKey = randomBytes(32);

it.each([
  [{ redis: undefined }, "redis must be a client of node-redis or ioredis; got undefined"],
  [{ redis: null }, "redis must be a client of node-redis or ioredis; got null"],
  [{ redis: {} }, "redis must be a client of node-redis or ioredis; got an object"],
  [{ redis: "redis://user:hunter2@host" }, "redis must be a client of node-redis or ioredis; got a string"],
  [{ prefix: 7 }, "prefix must be a string; got 7"],
  [{ encryptionKey: "hunter2" }, "encryptionKey must be 32 random bytes"],
])("refuses an option that is not what is described (case %#)", (options, message) => {
  const redis = { eval: async () => null };
  const given = { redis, encryptionKey, ...options } as unknown as RedisTokenStoreOptions;
  const refused = expect(() => new RedisTokenStore(given));
  refused.toThrow(ConfigError);
  refused.toThrow(`RedisTokenStore: ${message}`);
});

it("takes a reply that comes at once, as that of a client in a test", async () => {
  const store = new RedisTokenStore({ redis: { eval: () => null as never }, encryptionKey });
  expect(await store.read("key")).toBeUndefined();
});

it("takes a number that the client gives as a BigInt", async () => {
  const store = new RedisTokenStore({ redis: { eval: async () => 1n }, encryptionKey });
  expect(await store.lock("key", "owner", 1000)).toBe(true);
});

it.each([undefined, true, "pipeline", {}])("takes nothing else than a reply for one: %j", async (given) => {
  const value = given === "pipeline" ? new Redis({ lazyConnect: true }).pipeline() : given;
  const redis = { eval: async () => value };
  const store = new RedisTokenStore({ redis, encryptionKey });
  const works = [
    () => store.read("key"),
    () => store.lock("key", "owner", 1000),
    () => store.unlock("key", "owner"),
    () => store.write("key", "value", 1000, undefined),
  ];
  for (const work of works)
    await expect(work()).rejects.toThrow("RedisTokenStore: redis.eval must return Redis' reply");
});

it.each([
  ["NOPERM this user has no permissions to run the 'eval' command", "NOPERM"],
  ["LOADING Redis is loading the dataset in memory", "LOADING"],
  ["READONLY", undefined],
  ["connect ECONNREFUSED 127.0.0.1:6379", undefined],
  ["The client is closed", undefined],
])("takes the word that Redis refuses with for the error's code, and no other: %s", async (message, code) => {
  const error = new Error(message);
  const store = new RedisTokenStore({ redis: { eval: () => Promise.reject(error) }, encryptionKey });
  const thrown: unknown = await store.read("key").catch((reason: unknown) => reason);
  expect(thrown).toMatchObject(code === undefined ? error : { message, code, cause: error });
  expect(Reflect.get(Object(thrown), "code")).toBe(code);
  expect(thrown === error).toBe(code === undefined);
});

describe.skipIf(url === "")(`with a server${skipped}`, () => {
  const nodeRedis = createClient({ url });
  const ioRedis = url === "" ? undefined : new Redis(url);
  beforeAll(async () => {
    await nodeRedis.connect();
  });
  afterAll(async () => {
    await nodeRedis.close();
    await ioRedis?.quit();
  });
  const storeOf = (options: Partial<RedisTokenStoreOptions> = {}) =>
    new RedisTokenStore({ redis: ioRedis ?? nodeRedis, encryptionKey, ...options });

  it("keeps every law with node-redis, with ioredis, and between both", async () => {
    for (const redis of [nodeRedis, ioRedis ?? nodeRedis]) {
      const second = storeOf();
      const { held } = await verifyTokenStore(storeOf({ redis }), { second });
      expect(held.length).toBeGreaterThan(15);
    }
  });

  it("keeps every law with clients that give numbers as texts, or texts as bytes", async () => {
    const stringNumbers = new Redis(url, { stringNumbers: true });
    onTestFinished(() => void stringNumbers.quit());
    const texts = nodeRedis.withTypeMapping({ [RESP_TYPES.NUMBER]: String });
    const bytes = nodeRedis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    for (const redis of [stringNumbers, texts, bytes]) await verifyTokenStore(storeOf({ redis }));
  });

  /** Clients of a user with these rights, and nothing else. */
  async function clientsWith(rights: string[]) {
    const [username, password] = [randomUUID(), randomUUID()];
    await nodeRedis.aclSetUser(username, ["on", `>${password}`, "~cross-border-tokens:*", ...rights]);
    const { href } = Object.assign(new URL(url), { username, password });
    const own = createClient({ url: href });
    await own.connect();
    const ioRedis = new Redis(href, { enableReadyCheck: false });
    onTestFinished(async () => {
      ioRedis.disconnect();
      await own.close();
      await nodeRedis.aclDelUser(username);
    });
    return [own, ioRedis];
  }

  it("keeps every law for a user with the rights that the guide names, and no other", async () => {
    const guide = await readFile("docs/fleet.md", "utf8");
    const [, rights = ""] = /`~cross-border-tokens:\*((?: \+\w+)+)`/.exec(guide) ?? [];
    for (const redis of await clientsWith(rights.trim().split(" "))) await verifyTokenStore(storeOf({ redis }));
  });

  it("tells which word Redis refused with", async () => {
    for (const redis of await clientsWith(["+get"])) {
      await expect(storeOf({ redis }).read("key")).rejects.toMatchObject({ code: "NOPERM" });
    }
  });

  it("shows nothing of a value to whoever reads the server", async () => {
    const key = randomUUID();
    await storeOf().write(key, "a-secret-token", 60_000, undefined);
    const stored = (await nodeRedis.get(`cross-border-tokens:${key}`)) ?? "";
    expect(stored.length).toBeGreaterThan(20);
    expect(stored + Buffer.from(stored, "base64").toString("latin1")).not.toContain("secret");
  });

  it("reads nothing that was copied to another key", async () => {
    const [from, to] = [randomUUID(), randomUUID()];
    await storeOf().write(from, "value", 60_000, undefined);
    await nodeRedis.copy(`cross-border-tokens:${from}`, `cross-border-tokens:${to}`);
    expect((await storeOf().read(from))?.value).toBe("value");
    expect(await storeOf().read(to)).toBeUndefined();
  });

  it.each(["rubbish", "", "1.AAAA"])("takes what it can't read for nothing, and replaces it: %j", async (rubbish) => {
    const key = randomUUID();
    await nodeRedis.set(`cross-border-tokens:${key}`, rubbish);
    expect(await storeOf().read(key)).toBeUndefined();
    expect(await storeOf().write(key, "value", 60_000, undefined)).toBe(true);
    expect((await storeOf().read(key))?.value).toBe("value");
  });

  it("takes a value that is longer than any session for nothing, which it neither fetches nor sends", async () => {
    const key = randomUUID();
    await nodeRedis.set(`cross-border-tokens:${key}`, "1.".padEnd(20_000_000, "A"));
    const carried: unknown[] = [];
    const redis = {
      eval: async (script: string, options: { keys: string[]; arguments: string[] }) => {
        const reply = await nodeRedis.eval(script, options);
        carried.push(options, reply);
        return reply;
      },
    };
    const store = storeOf({ redis });
    expect(await store.read(key)).toBeUndefined();
    expect(await store.write(key, "value", 60_000, undefined)).toBe(true);
    expect((await store.read(key))?.value).toBe("value");
    expect(JSON.stringify(carried).length).toBeLessThan(5000);
    expect(await store.write(key, "v".repeat(2 ** 20), 60_000, (await store.read(key))?.version)).toBe(false);
  });

  it("replaces, once, a value that was made with another encryption key", async () => {
    const key = randomUUID();
    await storeOf().write(key, "old", 60_000, undefined);
    const renewed = storeOf({ encryptionKey: randomBytes(32).toString("base64") });
    expect(await renewed.read(key)).toBeUndefined();
    const writes = await Promise.all([1, 2, 3].map(() => renewed.write(key, "new", 60_000, undefined)));
    expect(writes.filter(Boolean)).toHaveLength(1);
    expect((await renewed.read(key))?.value).toBe("new");
  });

  it("keeps fleets with different prefixes apart", async () => {
    const key = randomUUID();
    await storeOf({ prefix: "one:" }).write(key, "value", 60_000, undefined);
    expect(await storeOf({ prefix: "two:" }).read(key)).toBeUndefined();
    expect(await nodeRedis.exists(`one:${key}`)).toBe(1);
  });

  it("leaves nothing behind for good", async () => {
    const key = randomUUID();
    await storeOf().write(key, "value", 60_000, undefined);
    await storeOf().lock(key, "owner", 15_000);
    expect(await nodeRedis.pTTL(`cross-border-tokens:${key}`)).toBeGreaterThan(50_000);
    expect(await nodeRedis.pTTL(`cross-border-tokens:${key}:lock`)).toBeGreaterThan(10_000);
    expect(await nodeRedis.pTTL(`cross-border-tokens:${key}:lock`)).toBeLessThanOrEqual(15_000);
  });
});
