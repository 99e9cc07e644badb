import { openClient } from "../client.mjs";

/** Time for pages that take 50 ms each, with a consumer that takes 50 ms each: `prefetch.mjs ORIGIN PAGES`. */
const [, , origin, pages] = process.argv;
const client = await openClient(`${origin}/of/${Number(pages) * 100}/after/50`);

async function run(query) {
  const from = performance.now();
  let seen = 0;
  for await (const page of client.payments.list({ size: 100, ...query }).pages()) {
    seen += page.items.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  if (seen !== Number(pages) * 100) throw new Error(`${seen} records`);
  return performance.now() - from;
}

const isThere = await run({ size: 1e6, prefetch: true }).then(
  () => true,
  (error) => {
    if (error.code === "invalid_argument" || error.name === "InvalidArgumentError") return false;
    throw error;
  },
);
const without = await run({});
const withIt = isThere ? await run({ prefetch: true }) : undefined;
process.stdout.write(`${JSON.stringify({ isThere, without, withIt })}\n`, () => process.exit());
