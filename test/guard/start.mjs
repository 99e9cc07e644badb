/** Prints the CPU time of an import, and of everything up to the first response, as JSON: `start.mjs undici|client ORIGIN`. */
const [, , who, origin] = process.argv;

async function undici() {
  const { request } = await import("undici");
  const headers = { authorization: "Bearer t" };
  return async () => (await request(`${origin}/payment-intents/1`, { headers })).body.json();
}

async function client() {
  const { CrossBorderClient } = await import("../../dist/index.js");
  const options = { baseUrl: origin, auth: { accessToken: () => "t" } };
  return () => new CrossBorderClient(options).paymentIntents.get("1");
}

const before = cpuMs();
const call = await (who === "client" ? client() : undici());
const importMs = cpuMs() - before;
await call();
process.stdout.write(JSON.stringify({ importMs, firstCallMs: cpuMs() - before }), () => process.exit());

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
