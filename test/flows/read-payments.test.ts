import { expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { readPayments } from "../../src/flows/read-payments.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import type { Payment } from "../../src/resources/payments.js";
import { fakeApiClient } from "../paging/fake-api-client.js";

/** A client whose service lists what is given for a request. */
function listing(page: (paging: PagingValues) => readonly Partial<Payment>[]) {
  const requests: PagingValues[] = [];
  const client = fakeApiClient({
    call: (_operation, _ids, input) => {
      const paging = input?.paging ?? {};
      requests.push(paging);
      return toApiPromise(Promise.resolve(page(paging)) as Promise<never>, { response: undefined });
    },
  });
  return { client, requests };
}

it("is not complete, and ends, where the tokens come round in a circle", async () => {
  // As numbers and texts compare among each other, each of them lies behind the one before it.
  const tokens = ["9", "10", "1a"];
  const { client, requests } = listing(({ _after, _sort }) => {
    if (_sort === "createdAt.desc") return [];
    const next = _after === undefined ? 0 : (tokens.indexOf(String(_after)) + 1) % tokens.length;
    return [{ pagingToken: tokens[next] ?? "" }];
  });
  const read = await readPayments(client, null, () => false);
  expect(read).toEqual({ seen: 4, problem: "the list of payments does not go on behind a paging token" });
  expect(requests.filter(({ _sort }) => _sort === "pagingToken.asc").map(({ _after }) => _after)).toEqual([
    undefined,
    ...tokens,
  ]);
});
