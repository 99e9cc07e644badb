import { openClient } from "./client.mjs";
import { makeSigningKey } from "./crypto.mjs";
import { clientFolder } from "./packages.mjs";
import { intentRequest } from "./record.mjs";

const load = (file) => import(new URL(`dist/${file}.js`, clientFolder).href);

/** Whose flows they are. */
export const gatewayId = intentRequest.senderGatewayId;

/** A journal at a place: `memory`, `sqlite:FILE`, or `postgres://…?schema=NAME`. */
export async function openJournal(place) {
  if (place === "memory") return new (await load("flow")).MemoryJournal();
  if (place.startsWith("sqlite:")) {
    return (await load("journal/sqlite")).SqliteJournal.open(place.slice("sqlite:".length));
  }
  const url = new URL(place);
  const schema = url.searchParams.get("schema");
  url.searchParams.delete("schema");
  return (await load("journal/postgres")).PostgresJournal.open(url.href, { schema });
}

/** A gateway's process over a journal, with a bank that responds at once. */
export async function openFlow(origin, journal) {
  const { PaymentFlow } = await load("flow");
  const client = await openClient(origin, { signingKey: makeSigningKey() });
  const takeFunds = ({ key }) => ({ senderGatewayTransactionId: `TX-${key}`, replayed: false });
  const flow = new PaymentFlow({ client, journal, gatewayId, takeFunds, releaseFunds() {} });
  return { client, flow };
}

/** A key that no other run has. */
export const newKey = () => crypto.randomUUID();

export async function assertPaid(outcome) {
  const { status } = await outcome;
  if (status !== "paid") throw new Error(`a payment ended as ${status}`);
}

/** The plain two steps. */
export const payPlainly = (client) =>
  assertPaid(client.pay(intentRequest, () => ({ senderGatewayTransactionId: `TX-${newKey()}` })));

export const runFlow = (flow) => assertPaid(flow.run(newKey(), intentRequest));

/** Does something, `atOnce` times side by side, for so long: how much a second, at which CPU each, and how long they took. */
export async function timed(work, atOnce, budgetMs) {
  const tookMs = [];
  const cpuBefore = process.cpuUsage();
  const from = performance.now();
  const line = async () => {
    do {
      const at = performance.now();
      await work();
      tookMs.push(performance.now() - at);
    } while (performance.now() - from < budgetMs);
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  const seconds = (performance.now() - from) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  tookMs.sort((one, other) => one - other);
  return {
    perSecond: tookMs.length / seconds,
    cpuUs: (user + system) / tookMs.length,
    p99Ms: tookMs[Math.floor(tookMs.length * 0.99)],
  };
}

export const print = (result) => process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
