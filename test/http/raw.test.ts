import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError, OutcomeUnknownError } from "../../src/core/errors.js";
import type { RawRequest } from "../../src/http/prepare.js";
import { broken, errorOf, json, ownError, scriptedClient, unsent } from "./scripted-transport.js";

type Client = ReturnType<typeof scriptedClient>["client"];
const request = (client: Client, given: unknown, options?: object) => client.request(given as RawRequest, options);

const refund = {
  method: "POST",
  path: "/refunds/{refundId}/approve",
  ids: ["42/1"],
  body: { account: "DE11222233334444", lines: [{ amount: 948271.5, GB29NWBK60161331926819: null }, "Erika Sender"] },
} as const;

it("sends the filled path, the query and the body as they were given, with a token", async () => {
  const { client, transport } = scriptedClient([json({ id: "1" }, 202, { "x-request-id": "r-1" })]);
  const query = { dryRun: true, size: 2, gone: undefined, note: "a b" };
  const call = client.request({ ...refund, query, signed: true });
  expect((await call.withResponse()).response).toMatchObject({ status: 202, requestId: "r-1" });
  const body = JSON.stringify(refund.body);
  const path = "/gw/refunds/42%2F1/approve?dryRun=true&size=2&note=a%20b";
  expect(transport.sent).toMatchObject([{ method: "POST", path, body, repeatable: false, maxResponseBytes: 2000 }]);
  expect(transport.sent[0]?.headers).toStrictEqual({
    accept: "application/json",
    authorization: "Bearer token-1",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "x-service-signature-base64": `signature of /gw/refunds/42%2F1/approve ${body}`,
  });
});

it("sends a copy: what the caller changes afterwards does not reach it", async () => {
  const { client, transport } = scriptedClient([json({})]);
  const body = { lines: ["a"] };
  const ids = ["1"];
  const sent = request(client, { method: "PATCH", path: "/refunds/{id}", ids, body });
  body.lines.push("b");
  ids[0] = "2";
  await sent;
  expect(transport.sent[0]).toMatchObject({ path: "/gw/refunds/1", body: '{"lines":["a"]}' });
});

it.each([
  ["an object", { status: 200, text: '{"a":1}' }, { a: 1 }],
  ["an array", { status: 200, text: "[1]" }, [1]],
  ["nothing", { status: 204, text: "" }, undefined],
])("returns %s, after a renewed token, too", async (_, step, data) => {
  const { client, events, transport } = scriptedClient([ownError(401), step]);
  expect(await request(client, refund)).toEqual(data);
  expect(transport.sent[1]?.headers.authorization).toBe("Bearer token-1-renewed");
  expect(events.mismatch).not.toHaveBeenCalled();
});

const writes = (["POST", "PUT", "PATCH", "DELETE"] as const).flatMap((method) =>
  [false, true].map((signed) => ({ method, path: "/refunds", signed }) as const),
);
describe("what a failure says", () => {
  it.each(writes)("is none of $method (signed: $signed) where nothing was done, else possible", async (given) => {
    for (const step of [unsent, ownError(400), ownError(429, { "retry-after": "0" })]) {
      expect(await errorOf(request(scriptedClient([step]).client, given))).toMatchObject({ effect: "none" });
    }
    for (const step of [broken, { status: 503 }, { status: 429, text: "<html>" }]) {
      const error = await errorOf(request(scriptedClient([step]).client, given));
      expect(error).toMatchObject({ effect: "possible", attempts: 1 });
    }
  });

  it("retries an idempotent request, and keeps what an earlier attempt may have done", async () => {
    const { client, transport } = scriptedClient([broken, ownError(404)]);
    const error = await errorOf(request(client, { method: "DELETE", path: "/refunds", idempotent: true }));
    expect(error).toMatchObject({ code: "http_404", effect: "possible", attempts: 2 });
    expect(transport.sent).toHaveLength(2);
  });

  it("holds the request, and shows no value of it", async () => {
    const { client, events } = scriptedClient([broken]);
    const error = await errorOf(request(client, { ...refund, query: { of: "Rob Receiver" }, signed: true }));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ operation: "POST /refunds/{refundId}/approve" });
    expect((error as OutcomeUnknownError).request.body).toBe(JSON.stringify(refund.body));
    const bodiless = await errorOf(request(client, { ...refund, body: undefined }));
    expect((bodiless as OutcomeUnknownError).request).toEqual({ path: "/gw/refunds/42%2F1/approve", body: "" });
    const shown = inspect([error, JSON.stringify(error), events.failure.mock.calls], { depth: 9 });
    for (const value of ["DE11222233334444", "Erika", "42/1", "42%2F1", "Rob", "948271.5"])
      expect(shown).not.toContain(value);
  });

  it("can be compared with what was signed, of which no id is printed", async () => {
    const { client } = scriptedClient([ownError(400)]);
    const ids = ["DE89370400440532013000"];
    const error = await errorOf(request(client, { ...refund, ids, signed: true }));
    expect(error).toMatchObject({ signed: { path: `/gw/refunds/${ids}/approve`, bodySha256: "body" } });
    expect(inspect(error) + JSON.stringify(error)).not.toContain(ids[0]);
    expect(JSON.parse(JSON.stringify(error)).signed).toEqual({ bodySha256: "body", publicKeySha256: "key" });
  });

  it.each([
    ["no 42/1", undefined],
    ["no Rob Receiver", undefined],
    ["no account DE11222233334444", undefined],
    ["no GB29NWBK60161331926819", undefined],
    ["not 948271.5", undefined],
    ["Erika Sender has no account", undefined],
    ["account_locked", "account_locked"],
  ])("has the service's code %j unless it repeats a value of the request", async (code, serviceCode) => {
    const { client } = scriptedClient([json({ error: code, message: "m" }, 400)]);
    const error = await errorOf(request(client, { ...refund, query: { to: "Rob Receiver" } }));
    expect(error.serviceCode).toBe(serviceCode);
  });
});

describe("what is refused before anything is sent", () => {
  const get = { method: "GET", path: "/refunds" };
  const badPaths = [
    undefined,
    5,
    "refunds",
    "/refunds?a=1",
    "/refunds//x",
    "/refunds/..",
    "/refunds/%2e",
    "/refunds/42",
  ];
  it.each<[string, unknown, string]>([
    ["no object", "GET /refunds", "the request must be an object"],
    ["another method", { ...get, method: "get" }, "method must be one of"],
    ...[...badPaths, "/a/{id"].map((path): [string, unknown, string] => {
      return [`the path ${path}`, { ...get, path }, "path must be words and {parameters}"];
    }),
    ["too few ids", { ...get, path: "/refunds/{id}" }, "id must be a string; got undefined"],
    ["an id that addresses something else", { ...get, path: "/refunds/{id}", ids: [".."] }, "id must be the id"],
    [
      "a query with an object, named by an account",
      { ...get, query: { DE11222233334444: {} } },
      "a field must be a string; got an object",
    ],
    ["a body of a read", { ...get, body: {} }, "a GET has no body"],
    ["a body that JSON can't carry", { ...refund, body: { at: 1n } }, "the body must be a JSON value"],
    ["an option that does not exist", { ...get, sign: true }, "unknown option"],
  ])("is %s", async (_, given, message) => {
    const { client, transport } = scriptedClient([json({})]);
    const error = await errorOf(request(client, given));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toContain(message);
    expect(error.message).not.toContain("DE11222233334444");
    expect(transport.sent).toEqual([]);
  });
});
