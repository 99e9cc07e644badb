import { openClient } from "../client.mjs";
import { spread } from "../measure.mjs";
import { memoryDispatcher } from "../memory-dispatcher.mjs";
import { intent, token } from "../record.mjs";

/**
 * CPU of 1,000 calls that find no token, wait for one request together and then go on, against 1,000 calls that find one.
 * Without sockets, since the difference is small. `waiting.mjs PAIRS`, with `--expose-gc`.
 */
const calls = 1000;
const answer = Buffer.from(JSON.stringify(intent));

/** @param lifetimeMs of its tokens. */
async function open(lifetimeMs) {
  const grant = { access_token: "bench-token", token_type: "Bearer", expires_in: lifetimeMs / 1000 };
  const login = Buffer.from(JSON.stringify(grant));
  const opened = { logins: 0 };
  const dispatcher = memoryDispatcher(({ method }) => {
    if (method === "GET") return { bytes: answer };
    opened.logins++;
    return { bytes: login, delayMs: 2 };
  });
  opened.client = await openClient("http://127.0.0.1:9", { dispatcher, tokenLeewayMs: 0 });
  return opened;
}

/** Each batch begins with the same heap: else whoever comes second tidies up after the first. */
async function cpuPerCallUs({ client }) {
  gc();
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: calls }, () => client.paymentIntents.get(token(1))));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

// The one's tokens have always expired when the next batch comes, the other's never.
const expiring = await open(1);
const lasting = await open(36_000_000);
for (let turn = 0; turn < 30; turn++) for (const each of [expiring, lasting]) await cpuPerCallUs(each);
const pairs = Number(process.argv[2]);
const above = [];
const warm = [];
expiring.logins = 0;
for (let pair = 0; pair < pairs; pair++) {
  const spent = new Map();
  const order = pair % 2 === 0 ? [expiring, lasting] : [lasting, expiring];
  for (const each of order) {
    await new Promise((resolve) => setTimeout(resolve, 3));
    spent.set(each, await cpuPerCallUs(each));
  }
  warm.push(spent.get(lasting));
  above.push(spent.get(expiring) - spent.get(lasting));
}
process.stdout.write(
  `${JSON.stringify({ above: spread(above), warm: spread(warm), loginsPerWait: expiring.logins / pairs })}\n`,
);
