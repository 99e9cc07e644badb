import { openClient } from "../client.mjs";
import { spread } from "../measure.mjs";
import { memoryDispatcher } from "../memory-dispatcher.mjs";
import { record, token } from "../record.mjs";

/**
 * CPU of 1,000 calls that find no token, wait for one request together and then go on, against 1,000 calls that find one.
 * Without sockets, since the difference is small. `waiting.mjs PAIRS`.
 */
const lifetimeMs = 250;
const calls = 1000;
const answer = Buffer.from(JSON.stringify(record(1)));
const login = Buffer.from(
  JSON.stringify({ access_token: "bench-token", token_type: "Bearer", expires_in: lifetimeMs / 1000 }),
);
let logins = 0;
const dispatcher = memoryDispatcher(({ method }) => {
  if (method === "GET") return { bytes: answer };
  logins++;
  return { bytes: login, delayMs: 5 };
});
const client = await openClient("http://127.0.0.1:9", { dispatcher, tokenLeewayMs: 0 });

async function cpuPerCallUs() {
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: calls }, () => client.paymentIntents.get(token(1))));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

for (let turn = 0; turn < 30; turn++) await cpuPerCallUs();
const pairs = Number(process.argv[2]);
const above = [];
const warm = [];
const loginsBefore = logins;
for (let pair = 0; pair < pairs; pair++) {
  await new Promise((resolve) => setTimeout(resolve, lifetimeMs + 20));
  const waited = await cpuPerCallUs();
  const found = await cpuPerCallUs();
  warm.push(found);
  above.push(waited - found);
}
process.stdout.write(
  `${JSON.stringify({ above: spread(above), warm: spread(warm), loginsPerWait: (logins - loginsBefore) / pairs })}\n`,
);
