import type { CrossBorderClient } from "cross-border-payments";
import type { SandboxRequest } from "cross-border-payments/sandbox";
import { describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { harnesses } from "../support/sandbox-harness.js";
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

describe.each(harnesses)("$name", ({ open }) => {
  /** What the service received of one call. */
  const receivedOf = async (call: (client: CrossBorderClient) => unknown) => {
    const received: SandboxRequest[] = [];
    const onRequest = (request: SandboxRequest) => {
      if (request.operation === "token") return undefined;
      received.push(request);
      return Response.json(request.operation?.endsWith(".list") ? [] : { id: "1" });
    };
    await using harness = await open({ onRequest });
    await settle(call(harness.client({ signingKey: signingKeysOf("gateway").privateKey })));
    expect(received).toHaveLength(1);
    return received.map(({ method, path, query, headers, body }) => {
      return { method, path, query, body, trace: headers.get("x-trace") };
    });
  };

  it.each(everyOperation)("sends what $name was given, whatever becomes of it afterwards", async (row) => {
    const sent = await receivedOf((client) => callByName(client, row, ...inputOf(row)));
    const spoilt = await receivedOf((client) => {
      const given = inputOf(row);
      const call = callByName(client, row, ...given);
      for (const value of given) spoil(value);
      return call;
    });
    expect(spoilt).toEqual(sent);
    expect(sent[0]?.trace).toBe("before");
  });

  it("keeps filter, order and headers of a list the same on every page", async () => {
    const received: SandboxRequest[] = [];
    const onRequest = (request: SandboxRequest) => {
      if (request.operation !== "payments.list") return undefined;
      received.push(request);
      const asked = new URLSearchParams(request.query);
      const at = Number(asked.get("_after"));
      const records = [1, 2, 3, 4, 5].map((number) => ({ id: `p${number}`, pagingToken: `${number}` }));
      return Response.json(records.slice(at, at + 3));
    };
    await using harness = await open({ onRequest });
    const query = { size: 3, sort: ["pagingToken.asc"] as const, filter: { memo: "rent" } };
    const options = { headers: { "x-trace": "before" } };
    for await (const _ of harness.client({ validation: "off" }).payments.list(query, options)) {
      query.size += 1;
      query.filter.memo += "!";
      options.headers["x-trace"] = "after";
    }
    const sent = received.map(({ query, headers }) => {
      const of = new URLSearchParams(query);
      return [of.get("_size"), of.get("memo"), of.get("_sort"), headers.get("x-trace")];
    });
    expect(sent).toEqual(Array(3).fill(["3", "rent", "pagingToken.asc", "before"]));
  });
});
