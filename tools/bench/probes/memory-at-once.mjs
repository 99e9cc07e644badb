import { openClient } from "../client.mjs";
import { importUndici } from "../packages.mjs";
import { token } from "../record.mjs";

/** Heap that 1,000 calls at once on 8 sockets need at their peak: `memory-at-once.mjs client|bare ORIGIN`, with `--expose-gc`. */
const [, , who, origin] = process.argv;
const get = who === "client" ? await ofClient() : await ofBare();

async function ofClient() {
  const client = await openClient(origin, { maxSockets: 8 });
  return () => client.paymentIntents.get(token(1));
}

async function ofBare() {
  const { Agent, request } = await importUndici();
  const dispatcher = new Agent({ connections: 8 });
  const headers = { accept: "application/json", authorization: "Bearer bench-token" };
  const url = `${origin}/payment-intents/${token(1)}`;
  return async () => JSON.parse(await (await request(url, { headers, dispatcher })).body.text());
}

function heap() {
  gc();
  return process.memoryUsage().heapUsed;
}

let answered = 0;
let peak = 0;
const watched = async () => {
  const record = await get();
  // What is alive, not what happens not to be collected yet.
  if (++answered % 100 === 1) peak = Math.max(peak, heap());
  return record;
};

for (let turn = 0; turn < 10; turn++) await Promise.all(Array.from({ length: 1000 }, get));
const idle = heap();
const all = Array.from({ length: 1000 }, watched);
peak = Math.max(peak, heap());
await Promise.all(all);
process.stdout.write(`${JSON.stringify({ idle, peak })}\n`, () => process.exit());
