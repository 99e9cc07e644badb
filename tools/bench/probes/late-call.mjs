import { setTimeout as sleep } from "node:timers/promises";

/** Time of a login and the first call, one second after the contender was made: `late-call.mjs NAME ORIGIN`. */
const [, , name, origin] = process.argv;
const { contenders } = await import("../contenders.mjs");
const contender = await contenders[name](origin);
await sleep(1000);
const startMs = performance.now();
// The client logs in by itself.
await contender.login?.();
await contender.get();
const ms = performance.now() - startMs;
process.stdout.write(`${JSON.stringify({ ms })}\n`, () => process.exit());
