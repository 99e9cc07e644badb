/** Time from the start of the process to the first answer: `first-call.mjs NAME ORIGIN`. */
const [, , name, origin] = process.argv;
const { contenders } = await import("../contenders.mjs");
const contender = await contenders[name](origin);
await contender.get();
process.stdout.write(`${JSON.stringify({ ms: performance.now() })}\n`, () => process.exit());
