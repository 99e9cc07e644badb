/**
 * Compares many entries with as many payments, and prints what was found and what it took:
 *
 *   node --max-old-space-size=96 --import tsx test/reconcile/large-comparison.ts 1000000
 *
 * Neither side is ever in memory as a whole: payments and entries are made from their numbers. The entries come in another order.
 */
import { type ApiClient, apiClientKey, type CallInput } from "../../src/api/api-client.js";
import type { ApiPromise } from "../../src/api/request-options.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import { reconcilePayments } from "../../src/reconcile/reconcile-payments.js";
import { fakeApiClient } from "../paging/fake-api-client.js";

const count = Number(process.argv[2] ?? 1_000_000);
const firstMs = Date.parse("2026-01-01T00:00:00Z");
/** Coprime to every power of ten: multiplied by it, the numbers come in another order. */
const stride = 382_723;

const payment = (index: number) => ({
  id: `payment-${index}`,
  pagingToken: `${index + 1}`,
  createdAt: new Date(firstMs + index * 50).toISOString(),
  updatedAt: new Date(firstMs + index * 50).toISOString(),
  senderGatewayId: "alpha-bank",
  senderGatewayTransactionId: `TX-${String(index).padStart(12, "0")}`,
  senderAmount: `${index % 9973}.50`,
  senderCurrency: "EUR",
  senderAccount: `DE${String(index).padStart(18, "0")}`,
  receiverGatewayId: "beta-mobile",
  receiverAmount: `${index % 9973}.5`,
  receiverCurrency: "KES",
  receiverAccount: `KE${String(index).padStart(12, "0")}`,
  receivingGatewayFee: "0",
  senderGatewayStatus: "processed",
  receiverGatewayStatus: "processed",
  creationRequestBody: "x".repeat(500),
});

function call<Output>({ paging = {} }: CallInput<unknown>): ApiPromise<Output> {
  const { _after = "0", _before = `${count + 1}`, _size = 20, _sort = "" } = paging;
  const [low, high] = [Number(_after), Number(_before) - 2];
  const isDescending = _sort.startsWith("createdAt.desc");
  const length = Math.max(0, Math.min(_size, high - low + 1));
  const page = Array.from({ length }, (_, index) => payment(isDescending ? high - index : low + index));
  return toApiPromise(Promise.resolve(page as Output), { response: { status: 200, headers: {} } });
}

const api: ApiClient = fakeApiClient({
  baseUrl: "https://service.test",
  call: (_, __, input) => call(input ?? {}),
});

/** Each thousandth is not there, and of each other thousandth the amount is another; each thousandth is of nothing. */
function* entries() {
  for (let index = 0; index < count; index += 1) {
    const number = (index * stride) % count;
    const { senderGatewayTransactionId, senderAmount, senderCurrency, receiverAmount, createdAt } = payment(number);
    if (number % 1000 === 500) continue;
    const amount = number % 1000 === 700 ? "0.01" : senderAmount;
    yield { senderGatewayTransactionId, senderAmount: amount, senderCurrency, receiverAmount, bookedAt: createdAt };
    if (number % 1000 === 900) yield { senderGatewayTransactionId: `lost-${number}`, bookedAt: createdAt };
  }
}

const found: Record<string, number> = {};
let peakHeap = 0;
const sampling = setInterval(() => {
  peakHeap = Math.max(peakHeap, process.memoryUsage().heapUsed);
}, 20);
const started = performance.now();
const client = { close: async () => {}, [apiClientKey]: api };
const to = new Date(firstMs + count * 50);
for await (const { type } of reconcilePayments(client, entries(), { from: new Date(firstMs), to, size: 1000 })) {
  found[type] = (found[type] ?? 0) + 1;
}
clearInterval(sampling);
const { maxRSS } = process.resourceUsage();
console.log(
  JSON.stringify({
    count,
    found,
    seconds: Number(((performance.now() - started) / 1000).toFixed(1)),
    peakHeapMiB: Math.round(peakHeap / 2 ** 20),
    peakRssMiB: Math.round(maxRSS / 1024),
  }),
);
