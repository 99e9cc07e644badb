/**
 * What one reading of the gauges costs, and what writes of payments wait for it, over the built package:
 *
 *     npx tsx test/observability/gauge-figures.ts --journal sqlite --flows 100000 --open 1000
 *     bash test/support/postgres.sh with npx tsx test/observability/gauge-figures.ts --journal postgres
 *
 * SQLite needs Node 22.22.3 or newer.
 */

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CrossBorderClient } from "cross-border-payments";
import { type Journal, type JournalEntry, PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { createSandbox } from "cross-border-payments/sandbox";
import { percentile } from "../crash/journal-figures.js";
import { isScript, say, scriptOptions } from "../crash/script-options.js";
import { boundJournal } from "../flows/bound-journal.js";
import { request } from "../flows/flow-fixture.js";
import { signingKeysOf } from "../support/key-pairs.js";

interface Place extends AsyncDisposable {
  readonly journal: Journal;
}

async function openJournal(kind: "sqlite" | "postgres"): Promise<Place> {
  if (kind === "postgres") {
    const schema = `gauges_${randomUUID().slice(0, 8)}`;
    const journal = await PostgresJournal.open(process.env.CBP_POSTGRES_URL ?? "", { schema });
    return { journal, [Symbol.asyncDispose]: () => journal.close() };
  }
  const folder = mkdtempSync(join(tmpdir(), "cbp-gauges-"));
  const journal = await SqliteJournal.open(join(folder, "flows.db"));
  return {
    journal,
    async [Symbol.asyncDispose]() {
      await journal.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Does the same for each number below `count`, some at a time. */
async function each(count: number, work: (index: number) => Promise<unknown>, atATime = 64): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: atATime }, lane));
}

/** Flows of a sandbox's gateway over a journal. */
async function gatewayOf(place: Journal) {
  const { privateKey, publicKeyBase64 } = signingKeysOf("gateway");
  let isLost = false;
  const sandbox = createSandbox({
    onRequest: ({ operation }) => (operation === "payments.create" && isLost ? Response.error() : undefined),
  });
  const options = {
    ...sandbox.clientOptions({ baseUrl: "https://service.test", authUrl: "https://login.test" }),
    signingKey: privateKey,
    fetch: sandbox.fetch,
    maxRetries: 0,
  };
  const client = new CrossBorderClient(options);
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64: publicKeyBase64 });
  }
  const flowOver = (journal: Journal, isBankAway = false): PaymentFlow =>
    new PaymentFlow({
      client,
      journal,
      takeFunds({ key }) {
        if (isBankAway) throw new Error("the bank is away");
        return { senderGatewayTransactionId: key, replayed: false };
      },
      releaseFunds() {},
      circuitBreaker: false,
      leaseMs: 1_000,
      readBackDelayMs: 1,
    });
  return {
    flowOver,
    flow: flowOver(place),
    loseResponses(lost: boolean) {
      isLost = lost;
    },
  };
}

/** So many flows, of which some are open, some held and some quoted, and all others paid. */
async function fill(journal: Journal, gateway: Awaited<ReturnType<typeof gatewayOf>>, flows: number, open: number) {
  const { flow, flowOver } = gateway;
  await flow.run("paid", request);
  const paid = await journal.read("paid");
  if (paid === undefined) throw new Error("the flow is not there");
  gateway.loseResponses(true);
  await each(Math.ceil(open / 10), (index) => flow.run(`held-${index}`, request), 8);
  gateway.loseResponses(false);
  const away = flowOver(journal, true);
  await each(open, (index) => away.run(`open-${index}`, request).catch(() => {}));
  await each(Math.ceil(open / 2), (index) => flow.quote(`quoted-${index}`, request));
  const { scope, phase, settled, data, evidence } = paid;
  const lease = { owner: "figures", leaseMs: 1_000, nonce: "figures" };
  const others = flows - open - Math.ceil(open / 10) - Math.ceil(open / 2) - 1;
  await each(others, (index) => journal.begin(`paid-${index}`, scope, { phase, settled, data, evidence }, lease), 512);
  return { bytes: data.length + evidence.length };
}

/** Milliseconds of each of some tries. */
async function timesOf(tries: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < tries; index += 1) {
    const startedAtMs = performance.now();
    await work();
    times.push(performance.now() - startedAtMs);
  }
  return times;
}

async function main(): Promise<void> {
  const { kind, flows, open, times } = scriptOptions({ flows: 100_000, open: 1_000, times: 50 });
  await using place = await openJournal(kind);
  const { journal } = place;
  const gateway = await gatewayOf(journal);
  const { bytes } = await fill(journal, gateway, flows, open);
  const tell = (what: string, measured: readonly number[]): void => {
    const ms = (percent: number): string => percentile(measured, percent).toFixed(2);
    say(`${kind}: ${what}: p50 ${ms(50)} ms, p99 ${ms(99)} ms (${measured.length} times)`);
  };
  const counted = await gateway.flow.counts();
  say(`${kind}: ${flows} flows of ${bytes} bytes: ${JSON.stringify(counted)}`);

  // A new flow has read nothing yet.
  tell(
    "a reading that counts settled flows too, once a minute",
    await timesOf(times, () => readingOf(gateway.flowOver(journal))),
  );
  const counts = await journal.counts({ service: "https://service.test" });
  const withCounts = boundJournal(journal, { counts: async () => counts });
  tell("any other reading", await timesOf(times, () => readingOf(gateway.flowOver(withCounts))));
  tell("of it, the backlog", await timesOf(times, () => journal.backlog()));
  tell("counts, of settled flows", await timesOf(times, () => journal.counts({ service: "https://service.test" })));
  tell("scopes, which reads the whole journal", await timesOf(10, () => journal.scopes()));

  const renew = await leased(journal);
  tell("a durable write, without readings", await timesOf(10 * times, renew));
  const stop = new AbortController();
  const reading = (async () => {
    while (!stop.signal.aborted) await readingOf(gateway.flowOver(journal));
  })();
  tell("a durable write, while one reading follows the other", await timesOf(10 * times, renew));
  stop.abort();
  await reading;
}

async function readingOf(flow: PaymentFlow): Promise<void> {
  const { stored, error } = await flow.gauges();
  if (stored === undefined) throw error ?? new Error("nothing was read");
}

/** What renews the lease of a flow of its own. */
async function leased(journal: Journal): Promise<() => Promise<boolean>> {
  const state = { phase: "claimed", settled: false, data: "", evidence: "" };
  const lease = { owner: "figures", leaseMs: 600_000, nonce: randomUUID() };
  const scope = { service: "https://figures.test", gateway: "figures" };
  const { entry }: { readonly entry: JournalEntry } = await journal.begin("figures", scope, state, lease);
  return () => journal.renew("figures", entry, lease.leaseMs);
}

if (isScript(import.meta.url)) await main();
