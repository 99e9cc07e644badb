import { type CrossBorderClient, InvalidArgumentError } from "cross-border-payments";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { type Harness, harnesses } from "../support/sandbox-harness.js";
import { bodyOf, callByName, collectionOf, everyOperation, filterOf } from "./call-by-name.js";

/** Stands in every bad value that can hold a text: it appears in no message. */
const secret = "hunter22";

let harness: Harness;
let client: CrossBorderClient;
beforeAll(async () => {
  const [sockets] = harnesses;
  if (sockets === undefined) throw new Error("there is no harness");
  harness = await sockets.open();
  client = harness.client({ signingKey: signingKeysOf("gateway").privateKey });
});
afterAll(() => harness[Symbol.asyncDispose]());

/** The call is refused with a message, and nothing is sent, not even a token request. */
async function expectRefusal(call: () => unknown, ...messages: readonly string[]): Promise<void> {
  const error = await (async () => call())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof InvalidArgumentError)) throw new Error(`not refused: ${messages}`);
  for (const message of messages) expect(error.message).toContain(message);
  expect(error.message).not.toContain(secret);
  expect(error.message.length).toBeLessThan(3000);
  expect(error.effect).toBe("none");
  expect(harness.sandbox.requests).toEqual([]);
}

/** Values that are neither texts nor objects with fields, and what they are called. */
const values: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a boolean", true],
  ["NaN", Number.NaN],
  ["a symbol", Symbol(secret)],
  ["a Date", new Date()],
  ["an array", [secret]],
  ["a Map", new Map([["a", secret]])],
  ["a Promise", Promise.resolve(secret)],
  ["a String", new String(secret)],
];

/** A record may have null, and then the body may have it, too. */
function mayBeNull({ verb, sendsBack, identifiedBy, body }: Operation, field: string): boolean {
  return verb === "update" || (sendsBack === true && field !== identifiedBy && body?.fields[field] !== "decimal");
}

describe.each(values)("%s", (name, value) => {
  it("can't be a body, a query, or options", async () => {
    for (const row of everyOperation) {
      const given = row.body !== undefined ? [bodyOf(row)] : row.verb === "list" ? [{}] : [];
      await expectRefusal(
        () => callByName(client, row, ...given, value),
        `${row.name}: the options must be an object; got ${name}`,
      );
      const [query, part] = row.verb === "get" ? [{ query: value }, "query must be"] : [value, "must be an object"];
      await expectRefusal(() => callByName(client, row, query), row.name, part);
    }
  });

  it("can't be a field of a body, a filter, or a query", async () => {
    for (const row of everyOperation) {
      for (const [field, kind] of Object.entries(row.body?.fields ?? {})) {
        if (kind === "any" || (value === null && mayBeNull(row, field))) continue;
        const call = () => callByName(client, row, { ...bodyOf(row), [field]: value });
        await expectRefusal(call, `${field} must be `, `got ${name}`);
      }
      for (const field of row.body === undefined ? Object.keys(filterOf(row)) : []) {
        const part = row.verb === "list" ? "filter" : "query";
        await expectRefusal(() => callByName(client, row, { [part]: { [field]: value } }), `${field} must be`, name);
      }
    }
  });

  it("can't be an id", async () => {
    for (const row of everyOperation.filter(({ path }) => path.parameters.length > 0)) {
      await expectRefusal(() => callWithIds(row, value), row.path.parameters.at(-1) ?? "", `got ${name}`);
    }
  });
});

describe.each(everyOperation.filter(({ body }) => body !== undefined))("the body of $name", (row) => {
  const call = (body: unknown) => () => callByName(client, row, body);

  it("can't be left out", async () => {
    await expectRefusal(call(undefined), `${row.name}: the body must be an object with fields; got undefined`);
  });

  it.skipIf(row.verb === "update" || row.sendsBack)("has no other fields, whatever they are called", async () => {
    for (const field of ["__proto__", "constructor", "toString", "colour", ""]) {
      const body = JSON.parse(JSON.stringify(bodyOf(row)).replace("{", `{${JSON.stringify(field)}:{},`));
      await expectRefusal(call(body), `Unknown field ${JSON.stringify(field)} in the body. Allowed:`);
    }
    for (const field of ["DE89370400440532013000", "a\nb", "hunter22 or so", secret.repeat(20)]) {
      await expectRefusal(call({ ...bodyOf(row), [field]: 1 }), `a name of ${field.length} characters`);
    }
    await expectRefusal(call({ ...bodyOf(row), ...Array.from("x".repeat(5000)) }), "Unknown field");
  });
});

describe("an id", () => {
  it.each(["", ".", "..", "undefined", "null", "1\n", "\u00001", "\ud800", 7.5])("can't be %j", async (id) => {
    for (const row of everyOperation.filter(({ path }) => path.parameters.length > 0)) {
      await expectRefusal(() => callWithIds(row, id), row.path.parameters.at(-1) ?? "");
    }
  });
});

/** Calls the operation with its last id replaced. */
function callWithIds(row: Operation, id: unknown): unknown {
  const ids: unknown[] = row.path.parameters.map(() => "1");
  ids[ids.length - 1] = id;
  const collection = collectionOf(client, row, ids as string[]);
  const method = Reflect.get(collection, row.verb) as (...given: unknown[]) => unknown;
  return method.call(collection, ...ids, ...(row.body === undefined ? [] : [{ currency: "EUR" }]));
}

describe("options of a call", () => {
  const call = (options: unknown) => () => client.paymentIntents.get("1", options as object);

  it.each(["timeout", "timeoutMS", "retries", "abort", "header", "idempotencyKey", "constructor", "__proto__"])(
    "can't have the name %s",
    async (name) => {
      await expectRefusal(call(JSON.parse(`{${JSON.stringify(name)}:1}`)), `unknown option "${name}"`);
    },
  );

  it.each<[string, unknown, string]>([
    ["signal", new AbortController(), "signal must be an AbortSignal; got an AbortController"],
    ["signal", { addEventListener() {}, removeEventListener() {} }, "signal must be an AbortSignal"],
    ["timeoutMs", "5000", "timeoutMs must be a number of milliseconds"],
    ["timeoutMs", Number.POSITIVE_INFINITY, "got Infinity"],
    ["timeoutMs", 0, "got 0"],
    ["timeoutMs", 2 ** 31, "up to 2147483647"],
    ["maxRetries", -1, "maxRetries must be a whole number, 0 or more; got -1"],
    ["maxRetries", 0.5, "got 0.5"],
    ["headers", new Headers({ "x-a": secret }), "got a Headers"],
    ["headers", { "x-a": `${secret}\n` }, "the value of x-a"],
    ["headers", { "X-Service-Signature-Base64": "a" }, "x-service-signature-base64 is set by the client itself"],
  ])("can't have %s: %o", async (name, value, message) => {
    await expectRefusal(call({ [name]: value }), message);
  });
});
