import { CrossBorderClient } from "cross-border-payments";
import { expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { bodyOf, callByName, everyOperation, filterOf } from "./call-by-name.js";

/** What a caller can give to the method of a row: a body, or the query of a list, and options. */
function inputOf(row: Operation): readonly object[] {
  const options = { headers: { "x-trace": "before" }, timeoutMs: 20_000, maxRetries: 0 };
  if (row.body !== undefined) return [bodyOf(row), options];
  if (row.verb === "get") return [{ ...options, query: filterOf(row) }];
  return [{ size: 2, after: "1", sort: ["id.asc", "name.asc"], filter: filterOf(row) }, options];
}

/** Changes all there is, to its depths; what can't be changed any more is left out. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    spoil(item);
    const other: Readonly<Record<string, unknown>> = { string: "after", number: 7777, object: null };
    if (!Array.isArray(value)) Reflect.set(value, name, other[typeof item]);
  }
  if (Array.isArray(value)) value.push("after.desc");
  Reflect.set(value, "after", "after");
}

/** Settles the call, whatever the made-up response leads to: what counts is what was sent. */
const settle = (call: unknown) => Promise.resolve(call).catch(() => undefined);

/** A client that has `respond` in place of the service. */
function clientOf(respond: (request: { readonly url: URL; readonly sent: object; readonly trace: unknown }) => object) {
  return new CrossBorderClient({
    ...{ baseUrl: "https://service.test", auth: { accessToken: () => "t" }, validation: "off" },
    signingKey: signingKeysOf("gateway").privateKey,
    async fetch(url, { method, headers, body }) {
      const sent = { url, method, body: Buffer.from((body ?? "") as Uint8Array).toString() };
      return Response.json(respond({ url: new URL(url), sent, trace: Reflect.get(Object(headers), "x-trace") }));
    },
  });
}

it.each(everyOperation)("sends what $name was given, whatever becomes of it afterwards", async (row) => {
  const received: object[] = [];
  const client = clientOf(({ sent, trace }) => {
    received.push({ sent, trace });
    return { id: "1" };
  });
  await settle(callByName(client, row, ...inputOf(row)));
  const given = inputOf(row);
  const call = callByName(client, row, ...given);
  for (const value of given) spoil(value);
  await settle(call);
  expect(received).toEqual([received[0], received[0]]);
  expect(received[0]).toHaveProperty("trace", "before");
});

it("keeps filter, order and headers of a list the same on every page", async () => {
  const sent: unknown[] = [];
  const client = clientOf(({ url: { searchParams: of }, trace }) => {
    sent.push([of.get("_size"), of.get("memo"), of.get("_sort"), trace]);
    const at = Number(of.get("_after"));
    return [1, 2, 3, 4, 5].map((number) => ({ id: `p${number}`, pagingToken: `${number}` })).slice(at, at + 3);
  });
  const query = { size: 3, sort: ["pagingToken.asc"] as const, filter: { memo: "rent" } };
  const options = { headers: { "x-trace": "before" } };
  for await (const _ of client.payments.list(query, options)) {
    query.size += 1;
    query.filter.memo += "!";
    options.headers["x-trace"] = "after";
  }
  expect(sent).toEqual(Array(3).fill(["3", "rent", "pagingToken.asc", "before"]));
});
