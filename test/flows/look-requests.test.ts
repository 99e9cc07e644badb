import { expect, it } from "vitest";
import { flowFixture, onPayment, request } from "./flow-fixture.js";

it("sends looks that no cache is to respond to, and the headers of its call with them", async () => {
  const sent: Headers[] = [];
  const { flow, sandbox } = await flowFixture(
    onPayment(() => Response.json({ error: "limit", message: "no" }, { status: 400 })),
  );
  const watched: typeof fetch = (input, init) => {
    const { method, url, headers } = new Request(input, init);
    if (method === "GET" && new URL(url).pathname.endsWith("/payments")) sent.push(headers);
    return sandbox.fetch(input, init);
  };
  const outcome = await flow({}, { fetch: watched }).run("k", request, { headers: { "x-trace": "one" } });
  expect(outcome).toMatchObject({
    status: "rejected",
    looks: [{ complete: true, grounds: { mark: "no payment", end: "end" } }],
  });
  expect(sent.length).toBeGreaterThan(1);
  expect(new Set(sent.map((headers) => headers.get("cache-control")))).toEqual(new Set(["no-cache"]));
  expect(new Set(sent.map((headers) => headers.get("x-trace")))).toEqual(new Set(["one"]));
});

it("holds the money of a refused payment while its list comes from a cache", async () => {
  const { flow, bank, sandbox } = await flowFixture(
    onPayment(() => Response.json({ error: "limit", message: "no" }, { status: 400 })),
  );
  const cached: typeof fetch = async (input, init) => {
    const response = await sandbox.fetch(input, init);
    if (!new URL(new Request(input, init).url).pathname.endsWith("/payments")) return response;
    const { status, headers } = response;
    return new Response(await response.text(), { status, headers: { ...Object.fromEntries(headers), age: "30" } });
  };
  expect(await flow({}, { fetch: cached }).run("k", request)).toMatchObject({
    status: "held",
    reason: expect.stringContaining("the list came from a cache, 30 s old"),
    looks: [{ complete: false, grounds: { ageSeconds: 30 } }, { complete: false }],
  });
  expect(bank.released).toEqual([]);
});
