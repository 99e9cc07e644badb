import { setTimeout as sleep } from "node:timers/promises";

/**
 * Prints what a start costs, as JSON: `start.mjs undici|client ORIGIN WAIT_MS`. The CPU time of the import, and of everything up to the first
 * response; and the time of a first call that is made WAIT_MS after the client.
 */
const [, , who, origin, waitMs] = process.argv;

async function undici() {
  const { request } = await import("undici");
  const headers = { authorization: "Bearer t" };
  return () => async () => (await request(`${origin}/payment-intents/1`, { headers })).body.json();
}

async function client() {
  const { CrossBorderClient } = await import("../../dist/index.js");
  return () => {
    const client = new CrossBorderClient({ baseUrl: origin, auth: { accessToken: () => "t" } });
    return () => client.paymentIntents.get("1");
  };
}

const before = cpuMs();
const open = await (who === "client" ? client() : undici());
const importCpuMs = cpuMs() - before;
const call = open();
if (waitMs !== "0") await sleep(Number(waitMs));
const startMs = performance.now();
await call();
const callMs = performance.now() - startMs;
process.stdout.write(JSON.stringify({ importCpuMs, firstCallCpuMs: cpuMs() - before, callMs }), () => process.exit());

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
