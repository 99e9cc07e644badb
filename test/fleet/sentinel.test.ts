import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { createSentinel } from "@redis/client";
import { verifyTokenStore } from "cross-border-payments/testing";
import { RedisTokenStore } from "cross-border-payments/tokens/redis";
import { Redis } from "ioredis";
import { expect, it, onTestFinished } from "vitest";

const hasRedis = process.env.CBP_REDIS_URL !== undefined;

async function run(...command: string[]): Promise<string> {
  return (await promisify(execFile)("bash", ["test/support/redis.sh", ...command])).stdout.trim();
}

/** Of a Redis of its own, until the test is over. */
async function start(kind: "start" | "replica" | "sentinel", ...more: string[]) {
  const folder = `/tmp/cbp-redis-${randomUUID().slice(0, 8)}`;
  onTestFinished(async () => void (await run("stop", folder)));
  const { port, password } = new URL(await run(kind, folder, ...more));
  return { folder, password, host: "127.0.0.1", port: Number(port) };
}

it.skipIf(!hasRedis)("keeps every law on the server that Sentinel promotes, by either client", async () => {
  const { folder, password } = await start("start");
  await start("replica", folder);
  const sentinel = await start("sentinel", folder);
  const options = { name: "tests", sentinels: [sentinel], password, sentinelPassword: password };
  const ioRedis = new Redis({ ...options, enableOfflineQueue: false });
  const nodeRedis = createSentinel({
    ...{ name: "tests", sentinelRootNodes: [sentinel], scanInterval: 500 },
    ...{ sentinelClientOptions: { password }, nodeClientOptions: { password } },
  });
  for (const client of [ioRedis, nodeRedis]) client.on("error", () => {});
  await nodeRedis.connect();
  onTestFinished(() => {
    ioRedis.disconnect();
    nodeRedis.destroy();
  });
  const encryptionKey = randomBytes(32);
  const stores = [ioRedis, nodeRedis].map((redis) => new RedisTokenStore({ redis, encryptionKey }));
  const [first, second] = stores as [RedisTokenStore, RedisTokenStore];
  const key = randomUUID();
  await expect.poll(() => first.write(key, "session", 600_000, undefined).catch(() => false)).toBe(true);
  await verifyTokenStore(first, { second, shortMs: 1000 });
  await run("signal", folder, "KILL");
  for (const store of stores) {
    await expect.poll(() => store.lock(key, "owner", 60_000).catch(() => false)).toBe(true);
    expect((await store.read(key))?.value).toBe("session");
  }
  await verifyTokenStore(first, { second, shortMs: 1000 });
});
