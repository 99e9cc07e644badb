import { openClient } from "../client.mjs";
import { token } from "../record.mjs";

/** Live heap after each tenth of much work: `memory-growth.mjs calls|records ORIGIN HOW_MANY`, with `--expose-gc`. */
const [, , work, origin, howMany] = process.argv;
const step = Number(howMany) / 10;
const heaps = [];
let done = 0;

function count() {
  if (++done % step !== 0) return;
  gc();
  heaps.push(process.memoryUsage().heapUsed);
}

if (work === "calls") {
  const client = await openClient(origin);
  for (let call = 0; call < step; call++) await client.paymentIntents.get(token(1));
  while (heaps.length < 10) {
    await client.paymentIntents.get(token(1));
    count();
  }
} else {
  const client = await openClient(`${origin}/of/${howMany}`);
  for await (const { id } of client.payments.list({ size: 1000 })) {
    if (Number(id) !== done + 1) throw new Error(`record ${id} came as number ${done + 1}`);
    count();
  }
}
process.stdout.write(`${JSON.stringify({ heaps, step })}\n`, () => process.exit());
