/**
 * How the processes of a fleet share one session: each builds its client with a token store.
 * With REDIS_URL and CROSS_BORDER_TOKEN_ENCRYPTION_KEY set, it is in Redis. As it is, the three processes are three clients with one store in memory.
 */
import { CrossBorderClient, MemoryTokenStore, type TokenStore } from "cross-border-payments";
import { RedisTokenStore } from "cross-border-payments/tokens/redis";
import { Redis } from "ioredis";
import { startPracticeService } from "./support/practice-service.js";

const { REDIS_URL, CROSS_BORDER_TOKEN_ENCRYPTION_KEY = "" } = process.env;
// Without a queue, a Redis that is away is noticed at once.
const redis =
  REDIS_URL === undefined ? undefined : new Redis(REDIS_URL, { enableOfflineQueue: false, lazyConnect: true });
redis?.on("error", () => {});
await redis?.connect();
const tokenStore: TokenStore =
  redis === undefined
    ? new MemoryTokenStore()
    : new RedisTokenStore({ redis, encryptionKey: CROSS_BORDER_TOKEN_ENCRYPTION_KEY });

await using practice = await startPracticeService();
const logins = practice.server.sandbox.tokenRequests.length;

for (const name of ["first", "second", "third"]) {
  await using client = new CrossBorderClient({
    ...practice.options,
    tokenStore,
    // `shared: false` time and again means that the store can't be used.
    on: {
      token: ({ grant, shared }) => console.log(`the ${name} process obtained a token (${grant}), shared: ${shared}`),
    },
  });
  const { items } = await client.paymentGateways.list();
  console.log(`the ${name} process sees ${items.length} gateways`);
}
console.log(`token requests: ${practice.server.sandbox.tokenRequests.length - logins}`);
redis?.disconnect();
