import { openClient } from "../client.mjs";
import { nodeCrypto } from "../crypto.mjs";
import { memoryDispatcher } from "../memory-dispatcher.mjs";
import { observers, unobserved } from "../observers.mjs";
import { intent, paymentRequest, record, token } from "../record.mjs";

/**
 * CPU of the calls of a client that is watched, beside one that nobody watches in the same process: in short turns, now the one first,
 * now the other. Without sockets, and with a signature that was made before, since the difference is small.
 * `observers.mjs NAME ROUNDS TURNS`.
 */
const [, , name, rounds, turns] = process.argv;
const atOnce = 64;

/** Short: what is added to a page does not grow with its records. */
const pageSize = 10;

/** How often each is done in a turn: 20 to 30 ms of work. */
const amounts = { get: 3072, sign: 512, page: 512 };

const login = bytesOf({ access_token: "bench-token", token_type: "Bearer", expires_in: 36_000 });
/** A service whose records have more than others. */
function dispatcherOf(more) {
  const page = bytesOf(Array.from({ length: pageSize }, (_, index) => ({ ...record(index + 1), ...more })));
  // All payments here are the same, and so is what is repeated of them.
  let payment;
  const paymentOf = ({ body, headers }) => {
    const signature = headers["x-service-signature-base64"];
    const repeated = { creationRequestBody: String(body), creationRequestSignatureBase64: signature };
    payment ??= bytesOf({ ...record(1), ...repeated, ...more });
    return payment;
  };
  const ofIntent = bytesOf({ ...intent, ...more });
  return memoryDispatcher((request) => {
    const { path } = request;
    if (path.endsWith("/token")) return { bytes: login };
    if (path.startsWith("/payments?")) return { bytes: page };
    return { bytes: path === "/payments" ? paymentOf(request) : ofIntent };
  });
}
const dispatcher = dispatcherOf({});
const dispatcherOfMore = dispatcherOf({ settlementDate: "2024-05-18", riskScore: 0 });
const signingKey = signerOfOneText();

async function open(options) {
  const client = await openClient("http://127.0.0.1:9", { dispatcher, signingKey, ...options });
  return {
    get: () => client.paymentIntents.get(token(1)),
    sign: () => client.payments.create(paymentRequest),
    async page() {
      let left = pageSize;
      for await (const { id } of client.payments.list({ size: pageSize })) if (id === "" || --left === 0) return;
    },
  };
}

/** CPU time in µs of so many calls, some at once. */
async function cpuUs(call, amount) {
  const before = process.cpuUsage();
  let left = amount;
  const line = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** How much more a call of the watched one takes, in µs. */
async function oneRound(work) {
  const spent = new Map([plain, watched].map((each) => [each, 0]));
  for (let turn = 0; turn < turns; turn++) {
    for (const each of turn % 2 === 0 ? [plain, watched] : [watched, plain]) {
      spent.set(each, spent.get(each) + (await cpuUs(each[work], amounts[work])));
    }
  }
  return (spent.get(watched) - spent.get(plain)) / (turns * amounts[work]);
}

/** All payments here are the same: their signature is made once. */
function signerOfOneText() {
  const { privateKey, publicKey } = nodeCrypto().generateKeyPairSync("rsa", { modulusLength: 2048 });
  let signature;
  return {
    publicKey,
    async sign(text) {
      signature ??= nodeCrypto().sign("sha256", text, privateKey);
      return signature;
    },
  };
}

function bytesOf(body) {
  return Buffer.from(JSON.stringify(body));
}

const watched = await open(await observers[name]({ dispatcherOfMore }));
const plain = await open(unobserved);
const results = {};
for (const work of Object.keys(amounts)) {
  // Compilers have seen both before anything counts.
  for (let turn = 0; turn < 20; turn++) for (const each of [plain, watched]) await cpuUs(each[work], amounts[work]);
  results[work] = [];
  for (let round = 0; round < rounds; round++) results[work].push(await oneRound(work));
}
process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit());
