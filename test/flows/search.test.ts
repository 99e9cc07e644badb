import { AbortedError, ApiError, type Payment } from "cross-border-payments";
import { expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { searchForPayment } from "../../src/flows/outside.js";
import { toApiPromise } from "../../src/http/http-client.js";
import { fakeApiClient } from "../paging/fake-api-client.js";

const nowMs = Date.UTC(2026, 0, 1);
const signed = { senderGatewayTransactionId: "TX-1", path: "/payments", body: '{"memo":"rent"}', signature: btoa("s") };

/** A payment of each second, the newest first. */
const paymentsOf = (count: number): Partial<Payment>[] =>
  Array.from({ length: count }, (_, age) => ({
    id: `p-${age}`,
    createdAt: new Date(nowMs - age * 1000).toISOString(),
    pagingToken: String(1_000_000 - age),
  }));

/** A service that sorts, pages, and excludes bounds. */
function list(payments: readonly Partial<Payment>[], { _sort = "", _after, _before, _size = 20 }: PagingValues) {
  const isDescending = _sort.endsWith(".desc");
  const ordered = isDescending ? payments : payments.toReversed();
  const tokens = ({ pagingToken }: Partial<Payment>) => Number(pagingToken);
  return ordered
    .filter(
      (one) =>
        (_after === undefined || tokens(one) > Number(_after)) &&
        (_before === undefined || tokens(one) < Number(_before)),
    )
    .slice(0, _size);
}

const refused = (status: number) =>
  ApiError.of("no", { code: `http_${status}`, response: { status, headers: {}, text: "" } });

async function search(
  respond: (paging: PagingValues) => readonly Partial<Payment>[],
  agoMs: number,
  tokensFollowTime = false,
  baseUrl = "https://service.test",
) {
  const client = fakeApiClient({
    baseUrl,
    call: (_, __, input) => toApiPromise((async () => respond(input?.paging ?? {}))() as Promise<never>),
  });
  const options = { since: nowMs - agoMs, signal: undefined, headers: undefined };
  return searchForPayment({ client, clockSkewMs: 1000, tokensFollowTime }, signed, options);
}

const own = { id: "own", createdAt: new Date(nowMs).toISOString(), pagingToken: "1000001" };

it.each([
  ["absent on a page that reaches back", 50, 20_000, {}, "absent"],
  ["absent from a short list", 5, 900_000, {}, "absent"],
  ["found by its signature", 50, 20_000, { creationRequestSignatureBase64: btoa("s") }, "found"],
  ["found by its body", 50, 20_000, { creationRequestBody: '{ "memo": "rent" }' }, "found"],
  ["a possible match by its transaction id", 50, 20_000, { senderGatewayTransactionId: "TX-1" }, "match"],
  ["not proved absent where tokens need not follow time", 3000, 2_000_000, {}, "incomplete"],
])("is %s", async (_, count, agoMs, fields, is) => {
  const payments = [{ ...own, ...fields }, ...paymentsOf(count)];
  await expect(search((paging) => list(payments, paging), agoMs)).resolves.toMatchObject({ is });
});

it("isn't proved absent by a list below another base path, as of a test system on the same host", async () => {
  const respond = (paging: PagingValues) => list(paymentsOf(5), paging);
  await expect(search(respond, 900_000, false, "https://service.test/test")).resolves.toEqual({ is: "incomplete" });
});

it("is absent from many payments if tokens follow time", async () => {
  const payments = paymentsOf(3000);
  await expect(search((paging) => list(payments, paging), 2_000_000, true)).resolves.toEqual({ is: "absent" });
});

it.each([
  [403, "forbidden"],
  [400, "forbidden"],
  [503, "unreadable"],
])("is decided by a list that responds with %s: %s", async (status, is) => {
  const respond = () => {
    throw refused(status);
  };
  await expect(search(respond, 20_000)).resolves.toEqual({ is });
});

it("is given up with its call", async () => {
  const respond = () => {
    throw new AbortedError("ended");
  };
  await expect(search(respond, 20_000)).rejects.toBeInstanceOf(AbortedError);
});
