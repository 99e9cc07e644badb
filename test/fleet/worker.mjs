// One process of a fleet, over the built package: it makes its calls, prints what came of them, and ends.
import { CrossBorderClient } from "../../dist/index.js";

const { baseUrl, auth, storeUrl, encryptionKey, everyMs, forMs, diesAfterMark } = JSON.parse(
  process.env.CBP_FLEET_WORKER,
);

const { store, close } = await (storeUrl.startsWith("redis") ? openRedis() : openPostgres());
const tokens = [];
const client = new CrossBorderClient({
  baseUrl,
  auth,
  tokenStore: diesAfterMark ? dying(store) : store,
  on: { token: (event) => tokens.push(event) },
});

const failures = [];
const calls = [];
const call = () =>
  calls.push(client.paymentIntents.get("1").catch(({ code, message }) => failures.push({ code, message })));
call();
const endsAtMs = performance.now() + forMs;
while (performance.now() + everyMs < endsAtMs) {
  await new Promise((resolve) => setTimeout(resolve, everyMs));
  call();
}
await Promise.all(calls);
await client.close();
await close();
process.stdout.write(`${JSON.stringify({ calls: calls.length, failures, tokens })}\n`);

async function openRedis() {
  const { Redis } = await import("ioredis");
  const { RedisTokenStore } = await import("../../dist/tokens/redis.js");
  const redis = new Redis(storeUrl, { maxRetriesPerRequest: 1 });
  redis.on("error", () => {});
  return { store: new RedisTokenStore({ redis, encryptionKey }), close: async () => redis.disconnect() };
}

async function openPostgres() {
  const { default: pg } = await import("pg");
  const { PostgresTokenStore } = await import("../../dist/tokens/postgres.js");
  const pool = new pg.Pool({ connectionString: storeUrl, max: 2, query_timeout: 2000 });
  pool.on("error", () => {});
  return { store: new PostgresTokenStore({ pool, encryptionKey }), close: () => pool.end() };
}

/** Kills the process at the worst moment: the refresh token is marked, and not sent yet. */
function dying(right) {
  return {
    read: (...request) => right.read(...request),
    lock: (...request) => right.lock(...request),
    unlock: (...request) => right.unlock(...request),
    async write(key, value, ...rest) {
      const isStored = await right.write(key, value, ...rest);
      if (isStored && value.includes('"spentBy"')) process.kill(process.pid, "SIGKILL");
      return isStored;
    },
  };
}
