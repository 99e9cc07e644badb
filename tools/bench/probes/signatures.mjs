import { monitorEventLoopDelay } from "node:perf_hooks";
import { openClient } from "../client.mjs";
import { makeSigningKey } from "../crypto.mjs";
import { memoryDispatcher } from "../memory-dispatcher.mjs";
import { paymentRequest, record } from "../record.mjs";

/** Signed payments a second, 64 at once, and how late the event loop is: `signatures.mjs sockets|memory ORIGIN SECONDS`. */
const [, , over, origin, seconds] = process.argv;
const signingKey = makeSigningKey();
const answer = Buffer.from(JSON.stringify(record(1)));
const login = Buffer.from(JSON.stringify({ access_token: "bench-token", token_type: "Bearer", expires_in: 36_000 }));
const inMemory = memoryDispatcher(({ path }) => ({ bytes: path === "/payments" ? answer : login }));
const client = await openClient(origin, over === "memory" ? { signingKey, dispatcher: inMemory } : { signingKey });

async function run(ms) {
  const from = performance.now();
  let done = 0;
  const line = async () => {
    for (; performance.now() - from < ms; done++) await client.payments.create(paymentRequest);
  };
  await Promise.all(Array.from({ length: 64 }, line));
  return (done / (performance.now() - from)) * 1000;
}

await run(500);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const perSecond = await run(Number(seconds) * 1000);
delay.disable();
process.stdout.write(`${JSON.stringify({ perSecond, p99Ms: delay.percentile(99) / 1e6 })}\n`, () => process.exit());
