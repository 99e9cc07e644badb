import { generateKeyPairSync } from "node:crypto";
import { memoryDispatcher } from "../../tools/bench/memory-dispatcher.mjs";
import { intent, intentRequest, paymentRequest, record } from "../../tools/bench/record.mjs";

/**
 * Counts the bytes that the client allocates for each call and for each record of a page, parsing among it, without sockets.
 *
 * Run with `--expose-gc`, without optimizing compilers, and with a young generation that holds a whole round: then nothing is
 * collected on the way, and no compiler that comes sooner or later decides what is allocated. `allocations.mjs DIST_URL`
 * prints them as JSON.
 */
const calls = 200;
const pageSize = 100;
const responses = {
  intent: Buffer.from(JSON.stringify(intent)),
  payment: Buffer.from(JSON.stringify(record(1))),
  page: Buffer.from(JSON.stringify(Array.from({ length: pageSize }, (_, index) => record(index + 1)))),
  login: Buffer.from(JSON.stringify({ access_token: "t", token_type: "Bearer", expires_in: 3600 })),
};

const dispatcher = memoryDispatcher(({ path }) => {
  if (path.endsWith("/token")) return { bytes: responses.login };
  if (path.startsWith("/payments?")) return { bytes: responses.page };
  return { bytes: path === "/payments" ? responses.payment : responses.intent };
});
const { CrossBorderClient } = await import(`${process.argv[2]}index.js`);
const baseUrl = "http://127.0.0.1:9";
const client = new CrossBorderClient({
  baseUrl,
  auth: { authUrl: baseUrl, realm: "r", clientId: "c", username: "u", password: "p" },
  signingKey: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
  dispatcher,
});

async function onePage() {
  let left = pageSize;
  for await (const { id } of client.payments.list({ size: pageSize })) if (id === "" || --left === 0) break;
}

/** The least of a few rounds: what comes on top now and then is not the client's. */
async function bytesEach(work, times) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    gc();
    const before = process.memoryUsage().heapUsed;
    for (let turn = 0; turn < times; turn++) await work();
    least = Math.min(least, (process.memoryUsage().heapUsed - before) / times);
  }
  return Math.round(least);
}

process.stdout.write(
  `${JSON.stringify({
    bytesPerGet: await bytesEach(() => client.paymentIntents.get("1"), calls),
    bytesPerCreate: await bytesEach(() => client.paymentIntents.create(intentRequest), calls),
    bytesPerSignedPayment: await bytesEach(() => client.payments.create(paymentRequest), calls),
    bytesPerRecordOfPage: Math.round((await bytesEach(onePage, 20)) / pageSize),
  })}\n`,
);
