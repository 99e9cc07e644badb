import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type GatewayFixture, livesByItsClaims, openGateway } from "../keycloak/gateway-fixture.js";
import { addUp, runWaves, runWorker, type WorkerOptions, type WorkerReport } from "./workers.js";

/**
 * `npm run fleet`: what a fleet makes of a real Keycloak that rotates refresh tokens and ends a session when one is reused. It takes
 * about twelve minutes, and is no part of CI.
 */

const { values } = parseArgs({
  options: {
    /** `redis` or `postgres`. */
    store: { type: "string", default: "redis" },
    cold: { type: "string", default: "1000" },
    "at-once": { type: "string", default: "8" },
    steady: { type: "string", default: "20" },
    seconds: { type: "string", default: "300" },
    /** Of the steady processes' access tokens, in seconds. */
    lifetime: { type: "string", default: "10" },
  },
});

const storeUrl = (values.store === "redis" ? process.env.CBP_REDIS_URL : process.env.CBP_POSTGRES_URL) ?? "";
if (storeUrl === "") throw new Error(`there is no ${values.store} server: see package.json, "fleet"`);
/** Where processes are killed, so that each of them sees some renewals. */
const shortSeconds = 10;
const eventTypes = ["LOGIN", "LOGIN_ERROR", "REFRESH_TOKEN", "REFRESH_TOKEN_ERROR"];
const steady = Number(values.steady);
const seconds = Number(values.seconds);
/** Of the steady processes' access tokens, in seconds. */
const lifetime = Number(values.lifetime);

await coldStarts();
await steadyFleet();
await killedHolders();

async function coldStarts(): Promise<void> {
  await using fixture = await open(300);
  const startMs = performance.now();
  const reports = await runWaves(Number(values.cold), Number(values["at-once"]), optionsOf(fixture));
  await report(`${values.cold} cold processes in ${secondsSince(startMs)} s`, fixture, reports);
}

async function steadyFleet(): Promise<void> {
  await using fixture = await open(lifetime);
  const options = { ...optionsOf(fixture), everyMs: 500, forMs: seconds * 1000 };
  const reports = await Promise.all(Array.from({ length: steady }, () => runWorker(options)));
  const most = Math.ceil(seconds / (lifetime * 0.9)) + 1;
  await report(
    `${steady} processes for ${seconds} s with tokens of ${lifetime} s (<= ${most} requests)`,
    fixture,
    reports,
  );
}

/** Every 20 s, a process that renews is killed after its mark. */
async function killedHolders(): Promise<void> {
  await using fixture = await open(shortSeconds);
  const options = { ...optionsOf(fixture), everyMs: 500, forMs: 80_000 };
  const living = Promise.all(Array.from({ length: 5 }, () => runWorker(options)));
  const dying: Promise<WorkerReport | undefined>[] = [];
  for (let killed = 0; killed < 3; killed++) {
    await sleep(15_000);
    // More of them than living ones, so that one of them is likely to renew.
    for (let count = 0; count < 10; count++) {
      dying.push(runWorker({ ...options, everyMs: 50, forMs: 12_000, diesAfterMark: true }));
    }
  }
  const reports = await living;
  const died = (await Promise.all(dying)).filter((end) => end === undefined).length;
  await report(`5 processes for 80 s beside ${died} that were killed with the lock`, fixture, reports);
}

async function open(accessTokenLifespan: number): Promise<GatewayFixture> {
  const events = { eventsEnabled: true, eventsExpiration: 3600, enabledEventTypes: eventTypes };
  const rotating = { revokeRefreshToken: true, refreshTokenMaxReuse: 0 };
  const fixture = await openGateway({ realm: { ...rotating, ...events, accessTokenLifespan } });
  fixture.service.accepts = livesByItsClaims;
  return fixture;
}

function optionsOf(fixture: GatewayFixture): WorkerOptions {
  const { auth } = fixture;
  return { baseUrl: fixture.baseUrl, auth, storeUrl, encryptionKey: randomBytes(32).toString("base64") };
}

async function report(
  title: string,
  { realm, proxy, service }: GatewayFixture,
  reports: readonly (WorkerReport | undefined)[],
): Promise<void> {
  const { calls, failures } = addUp(reports);
  const events = (await realm.admin("GET", "/events?max=100000")) as readonly { type: string; error?: string }[];
  const counts = new Map<string, number>();
  for (const { type, error } of events) {
    const name = error === undefined ? type : `${type} (${error})`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  console.log(
    JSON.stringify({
      title,
      calls,
      failed: failures.length,
      codes: [...new Set(failures.map(({ code }) => code))],
      refusedByService: service.refused,
      tokenRequests: proxy.tokenRequests.length,
      mostInFlight: proxy.mostInFlight,
      sessions: await realm.sessions(),
      keycloakEvents: Object.fromEntries(counts),
    }),
  );
}

function secondsSince(startMs: number): number {
  return Math.round((performance.now() - startMs) / 1000);
}
