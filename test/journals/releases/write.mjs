/**
 * Writes the journals that a release leaves behind, with its packed package:
 *
 *   npm install --prefix /tmp/release ./cross-border-payments-0.3.0.tgz pg
 *   bash test/support/postgres.sh with node test/journals/releases/write.mjs /tmp/release
 *
 * It needs Node 22.22.3, 24.15, or newer, and `pg_dump`. The keys that it makes are forgotten when it ends.
 */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const load = createRequire(join(process.argv[2], "package.json"));
const { CrossBorderClient } = load("cross-border-payments");
const { PaymentFlow } = load("cross-border-payments/flow");
const { createSandbox } = load("cross-border-payments/sandbox");
const { version } = load("cross-border-payments/package.json");
const named = (ending) => new URL(`${version}${ending}`, import.meta.url).pathname;

const request = {
  ...{ senderGatewayId: "alpha-bank", senderCurrency: "EUR", senderAccount: "DE-0001" },
  ...{
    receiverGatewayId: "beta-mobile",
    receiverCurrency: "EUR",
    receiverAccount: "KE-7002",
    receiverAmount: "150.00",
  },
  memo: "school fees",
};
/** The phase in which the process that began a flow stops. */
const stops = {
  "stopped-funds-requested": "funds-requested",
  "stopped-claimed": "claimed",
  "stopped-unknown": "unknown",
  "stopped-refused": "refused",
};

/** A service, a bank, and processes of the release. */
async function openWorld() {
  /** The key whose payment is under way. */
  let key = "";
  const isPayment = ({ operation }) => operation === "payments.create";
  const refusal = (status, error) => Response.json({ error, message: "no" }, { status });
  const sandbox = createSandbox({
    onRequest(seen) {
      if (!isPayment(seen)) return undefined;
      if (/refused|rejected/.test(key)) return refusal(400, "limit_exceeded");
      return key === "held" ? refusal(502, "bad_gateway") : undefined;
    },
    onResponse: (seen) => (isPayment(seen) && key === "stopped-unknown" ? refusal(502, "bad_gateway") : undefined),
  });
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = String(publicKey.export({ type: "spki", format: "pem" }));
  const client = new CrossBorderClient({
    ...sandbox.clientOptions({ baseUrl: "https://service.test", authUrl: "https://login.test" }),
    ...{ signingKey: privateKey, fetch: sandbox.fetch, maxRetries: 0 },
  });
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    const rsaPublicKeyBase64 = Buffer.from(pem).toString("base64");
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64 });
  }
  const taken = new Map();
  function takeFunds(asked) {
    if (asked.key === "declined") return null;
    const earlier = taken.get(asked.key);
    if (earlier !== undefined) return { ...earlier, replayed: true };
    const funds = { senderGatewayTransactionId: `TX-${asked.key}`, takenAtMs: Date.now() };
    taken.set(asked.key, funds);
    return { ...funds, replayed: asked.key === "held-unsent" };
  }
  const options = { client, takeFunds, releaseFunds: () => {}, leaseMs: 3000, readBackDelayMs: 10, owner: version };
  return {
    process: (journal) => new PaymentFlow({ ...options, journal }),
    begin(of) {
      key = of;
    },
  };
}

/** A process that stands still once a phase is stored. */
function stopping(journal, phase, onStop) {
  let isStopped = false;
  return new Proxy(journal, {
    get: (target, method) => {
      return async (...given) => {
        const stored = isStopped || (await target[method](...given));
        isStopped ||= given.some((each) => each?.phase === phase);
        if (!isStopped) return stored;
        onStop();
        return new Promise(() => {});
      };
    },
  });
}

/** @param {() => Promise<object>} open the journal. @param {(ending: string) => void} keep what it stored, while it is closed. */
async function write(open, keep) {
  const world = await openWorld();
  let journal = await open();
  const flow = world.process(journal);
  const outcomes = {};
  const settle = async (key) => {
    world.begin(key);
    outcomes[key] = (await flow.run(key, request)).status;
  };
  await settle("pruned");
  await journal.prune({ settledBeforeMs: Date.now() + 60_000 });
  for (const key of ["paid", "declined", "rejected", "held", "held-unsent"]) await settle(key);
  await flow.quote("quoted", request);
  for (const [key, phase] of Object.entries(stops)) {
    world.begin(key);
    await new Promise((resolve) => {
      world
        .process(stopping(journal, phase, resolve))
        .run(key, request)
        .catch(console.error);
    });
  }
  await journal.close();
  keep("-open");
  // Their leases end.
  await new Promise((resolve) => setTimeout(resolve, 4000));
  journal = await open();
  world.begin("recovered");
  const another = world.process(journal);
  for await (const outcome of another.recover()) outcomes[outcome.key] = outcome.status;
  await journal.close();
  keep("");
  return outcomes;
}

const { SqliteJournal } = load("cross-border-payments/journal/sqlite");
const file = join(mkdtempSync(join(tmpdir(), "release-")), "payments.db");
const outcomes = await write(
  () => SqliteJournal.open(file),
  (ending) => copyFileSync(file, named(`${ending}.sqlite`)),
);

const { PostgresJournal } = load("cross-border-payments/journal/postgres");
const url = process.env.CBP_POSTGRES_URL;
await write(
  () => PostgresJournal.open(url),
  (ending) => {
    const dump = execFileSync("pg_dump", ["--inserts", "--no-owner", "--no-acl", url], { encoding: "utf8" });
    // What older servers, and clients other than psql, don't know.
    const sql = dump.replace(/^(?:--.*|\\.*|SET .*|SELECT pg_catalog.*|.* SET COMPRESSION .*|)\n/gm, "");
    writeFileSync(named(`${ending}.sql`), sql);
  },
);
writeFileSync(named(".json"), `${JSON.stringify({ request, outcomes }, undefined, 2)}\n`);
process.exit();
