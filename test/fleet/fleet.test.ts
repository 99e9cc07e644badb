import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { type IdentityServer, startIdentityServer } from "./identity-server.js";
import { type StoreKind, startStoreServer } from "./store-server.js";
import { addUp, runWaves, runWorker, type WorkerOptions } from "./workers.js";

const redisUrl = process.env.CBP_REDIS_URL ?? "";
const postgresUrl = process.env.CBP_POSTGRES_URL ?? "";

function optionsOf({ origin }: IdentityServer, storeUrl: string): WorkerOptions {
  const auth = {
    authUrl: origin,
    realm: "payments",
    clientId: "gateway",
    username: randomUUID(),
    password: "password",
  };
  return { baseUrl: origin, auth, storeUrl, encryptionKey: randomBytes(32).toString("base64") };
}

/** `CBP_FLEET_SIZE=1000` makes it a fleet of a thousand. */
it.each([
  ["Redis", redisUrl, Number(process.env.CBP_FLEET_SIZE ?? 50)],
  ["PostgreSQL", postgresUrl, 10],
])("logs in once over %s, for processes that start cold", async (_, storeUrl, size) => {
  await using server = await startIdentityServer();
  const { calls, failures, tokens } = addUp(await runWaves(size, 5, optionsOf(server, storeUrl)));
  expect(failures).toEqual([]);
  expect(calls).toBe(size);
  expect(server.identity.requests.map(({ grant }) => grant)).toEqual(["password"]);
  expect(tokens).toEqual([{ grant: "password", expiresInMs: 300_000, shared: true }]);
});

// Side by side, since they mostly wait.
it.concurrent.each([
  ["Redis", redisUrl],
  ["PostgreSQL", postgresUrl],
])(
  "renews once a lifetime over %s, and loses no call over a process that is killed with the lock",
  async (_, storeUrl) => {
    await using server = await startIdentityServer();
    const { identity } = server;
    identity.lifetime = 10;
    const options = { ...optionsOf(server, storeUrl), everyMs: 200 };
    // It logs in for all of them, and dies with its first refresh.
    const dying = runWorker({ ...options, forMs: 60_000, diesAfterMark: true });
    await expect.poll(() => identity.logins).toBe(1);
    expect(await dying).toBeUndefined();
    const reports = await Promise.all(Array.from({ length: 6 }, () => runWorker({ ...options, forMs: 25_000 })));
    expect(addUp(reports).failures).toEqual([]);
    expect(identity.reused).toEqual([]);
    // One for the session that the killed process took along.
    expect(identity.logins).toBe(2);
    expect(identity.refreshes).toBeLessThanOrEqual(3);
  },
);

it.concurrent.each<[StoreKind]>([["redis"], ["postgres"]])(
  "loses sharing only, while the server of %s holds rubbish, is wiped, stands still, and is gone",
  async (kind) => {
    await using server = await startIdentityServer();
    await using store = await startStoreServer(kind);
    const { identity } = server;
    identity.lifetime = 10;
    const options = { ...optionsOf(server, store.url), everyMs: 200, forMs: 50_000 };
    const fleet = Promise.all([1, 2, 3].map(() => runWorker(options)));
    await expect.poll(() => identity.logins).toBe(1);
    await sleep(1000);
    await store.fillWithRubbish();
    await expect.poll(() => identity.logins).toBe(2);
    await sleep(1000);
    await store.wipe();
    await sleep(1000);
    await store.pause();
    await sleep(8000);
    await store.resume();
    await sleep(1000);
    await store.crash();
    await sleep(4000);
    await store.restart();
    // Until then, one may have a token that it got alone.
    const sharingFromMs = performance.now() + 10_000;
    const reports = await fleet;
    expect(addUp(reports).failures).toEqual([]);
    expect(identity.reused).toEqual([]);
    const lifetimes = Math.ceil((performance.now() - sharingFromMs) / 9000);
    const renewals = identity.requests.filter(({ atMs }) => atMs > sharingFromMs).length;
    expect(renewals).toBeLessThanOrEqual(lifetimes + 1);
  },
);
