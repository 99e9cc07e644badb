import { type CrossBorderClient, InvalidArgumentError } from "cross-border-payments";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { payment } from "../http/scripted-transport.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { type Harness, harnesses } from "../support/sandbox-harness.js";
import { bodyOf, callByName, everyOperation, filterOf } from "./call-by-name.js";

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

/** The call is refused with a message, and nothing is sent: not even a token is asked for. */
async function expectRefusal(call: () => unknown, ...messages: readonly (string | RegExp)[]): Promise<void> {
  const error = await (async () => call())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidArgumentError);
  for (const message of messages) expect((error as Error).message).toMatch(message);
  expect((error as Error).message).not.toContain(secret);
  expect((error as Error).message.length).toBeLessThan(3000);
  expect(error).toMatchObject({ effect: "none" });
  expect(harness.sandbox.requests).toEqual([]);
}

/** Values that are no text, and what they are called. */
const noTexts: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a boolean", true],
  ["a number", 7],
  ["NaN", Number.NaN],
  ["a symbol", Symbol(secret)],
  ["a Date", new Date()],
  ["an array", [secret]],
  ["a Map", new Map([["a", secret]])],
  ["a Promise", Promise.resolve(secret)],
  ["a String", new String(secret)],
  ["an object", { toJSON: () => secret }],
];

/** Values that are no objects with fields, and what they are called. */
const noObjects: readonly (readonly [string, unknown])[] = [
  ...noTexts.filter(([name]) => name !== "an object"),
  ["a string", secret],
  ["a URLSearchParams", new URLSearchParams({ memo: secret })],
];

it("tells no class that does not have a name", async () => {
  const tag = (name: string) => Object.defineProperty({}, Symbol.toStringTag, { value: name });
  await expectRefusal(
    () => client.payments.create({ ...payment, memo: tag(`${secret} or so`) as never }),
    "got an object",
  );
  await expectRefusal(() => client.payments.create({ ...payment, memo: tag("Decimal") as never }), "got a Decimal");
});

/** An instance of a class may have fields. */
const noRecords = noObjects.filter(([name]) => name !== "an object");
const writes = everyOperation.filter(({ body }) => body !== undefined);

/** Whether a field may have a value because a record may: null, or an exact number. */
function mayComeBack({ verb, sendsBack, identifiedBy, body }: Operation, field: string, value: unknown): boolean {
  if (value === null && verb === "update") return true;
  const isSentBack = verb === "update" || (sendsBack === true && field !== identifiedBy);
  if (value === null) return isSentBack && body?.fields[field] !== "decimal";
  return (
    value === 7 && body?.fields[field] !== "publicKey" && (isSentBack || (/Id$/.test(field) && field !== identifiedBy))
  );
}

describe.each(writes)("the body of $name", (row) => {
  const call = (body: unknown) => () => callByName(client, row, body);

  it.each(noRecords)("can't be %s", async (name, body) => {
    await expectRefusal(call(body), `${row.name}: the body must be an object with fields; got ${name}`);
  });

  it("can't be left out", async () => {
    await expectRefusal(
      () => callByName(client, row),
      `${row.name}: the body must be an object with fields; got undefined`,
    );
  });

  it.each(noTexts)("has no field that is %s", async (name, value) => {
    for (const [field, kind] of Object.entries(row.body?.fields ?? {})) {
      if (kind === "any" || mayComeBack(row, field, value)) continue;
      await expectRefusal(call({ ...bodyOf(row), [field]: value }), `${field} must be `, `got ${name}`);
    }
  });

  it("has no lone surrogate", async () => {
    for (const [field, kind] of Object.entries(row.body?.fields ?? {})) {
      if (kind !== "any" && kind !== "decimal" && kind !== "publicKey" && row.body?.oneOf?.[field] === undefined) {
        await expectRefusal(call({ ...bodyOf(row), [field]: "a\ud800b" }), field, "half of a surrogate pair");
      }
    }
  });

  it.skipIf(row.verb === "update" || row.sendsBack)("has no other fields, whatever they are called", async () => {
    for (const field of ["__proto__", "constructor", "toString", "colour", ""]) {
      const body = JSON.parse(JSON.stringify(bodyOf(row)).replace("{", `{${JSON.stringify(field)}:{},`));
      await expectRefusal(call(body), `Unknown field ${JSON.stringify(field)} in the body. Allowed:`);
    }
    for (const field of ["DE89370400440532013000", "a\nb", "hunter22 or so", secret.repeat(20)]) {
      const shown = `Unknown field with a name of ${field.length} characters in the body. Allowed:`;
      await expectRefusal(call({ ...bodyOf(row), [field]: 1 }), shown);
    }
    await expectRefusal(call({ ...bodyOf(row), ...Array.from("x".repeat(5000)) }), /And \d+ more$/);
  });
});

const gets = everyOperation.filter(({ verb }) => verb === "get");
const lists = everyOperation.filter(({ verb }) => verb === "list");

describe.each(gets)("the query of $name", (row) => {
  it.each(noRecords)("can't be %s", async (_, query) => {
    await expectRefusal(() => callByName(client, row, { query }), row.name, "query must be an object");
  });

  it.each(noTexts)("has no field that is %s", async (name, value) => {
    for (const field of Object.keys(filterOf(row))) {
      if (value === 7) continue;
      await expectRefusal(() => callByName(client, row, { query: { [field]: value } }), `${field} must be`, name);
    }
  });

  it("has no other fields", async () => {
    await expectRefusal(
      () => callByName(client, row, { query: { colour: "x" } }),
      'Unknown field "colour" in the query',
    );
  });
});

describe.each(lists)("the query of $name", (row) => {
  const call = (query: unknown) => () => callByName(client, row, query);

  it.each(noObjects)("can't be %s", async (name, query) => {
    await expectRefusal(call(query), `${row.name}: the query must be an object; got ${name}`);
    await expectRefusal(call({ filter: query }), `${row.name}: filter must be an object of the record's fields`);
  });

  it.each(noTexts)("has no filter that is %s", async (name, value) => {
    for (const field of Object.keys(filterOf(row))) {
      if (value !== 7) await expectRefusal(call({ filter: { [field]: value } }), `${field} must be`, name);
    }
  });

  it.each(["pageSize", "limit", "_size", "memo", "signal", "__proto__"])("has no part called %s", async (name) => {
    const query = JSON.parse(`{${JSON.stringify(name)}:"x"}`);
    await expectRefusal(call(query), `unknown option ${JSON.stringify(name)}`);
  });
});

describe.each(everyOperation)("the options of $name", (row) => {
  const given = row.body !== undefined ? [bodyOf(row)] : row.verb === "list" ? [{}] : [];
  const call = (options: unknown) => () => callByName(client, row, ...given, options);

  it.each(noObjects)("can't be %s", async (name, options) => {
    await expectRefusal(call(options), `${row.name}: the options must be an object; got ${name}`);
  });

  it.each(["timeout", "timeoutMS", "retries", "abort", "header", "idempotencyKey", "constructor", "__proto__"])(
    "have none called %s",
    async (name) => {
      const options = JSON.parse(`{${JSON.stringify(name)}:1}`);
      await expectRefusal(call(options), `${row.name}: unknown option "${name}"`);
    },
  );

  it.each<[string, unknown, string]>([
    ["signal", null, "signal must be an AbortSignal; got null"],
    ["signal", new AbortController(), "signal must be an AbortSignal; got an AbortController"],
    ["timeoutMs", "5000", "timeoutMs must be a number of milliseconds"],
    ["timeoutMs", Number.NaN, "got NaN"],
    ["timeoutMs", Number.POSITIVE_INFINITY, "got Infinity"],
    ["timeoutMs", -1, "got -1"],
    ["timeoutMs", 0, "got 0"],
    ["timeoutMs", 2 ** 31, "up to 2147483647"],
    ["maxRetries", -1, "maxRetries must be a whole number, 0 or more; got -1"],
    ["maxRetries", 0.5, "got 0.5"],
    ["maxRetries", 2n, "got a bigint"],
    ["headers", null, "headers must be an object such as"],
    ["headers", new Headers({ "x-a": secret }), "got a Headers"],
    ["headers", new Map([["x-a", secret]]), "got a Map"],
    ["headers", [["x-a", secret]], "got an array"],
    ["headers", Promise.resolve({ "x-a": secret }), "got a Promise"],
    ["headers", { "x-a": 5 }, "the value of x-a"],
    ["headers", { "x-a": null }, "the value of x-a"],
    ["headers", { "x-a": `${secret}\n` }, "the value of x-a"],
    ["headers", { "x-a": "\0" }, "the value of x-a"],
    ["headers", { "x-a": "€" }, "the value of x-a"],
    ["headers", { "": "a" }, "is not a valid header name"],
    ["headers", { "x a": "a" }, "is not a valid header name"],
    ["headers", { "x-a:": "a" }, "is not a valid header name"],
    ["headers", { Host: "a" }, "host is set by the client itself"],
    ["headers", { "Content-Length": "1" }, "content-length is set by the client itself"],
    ["headers", { "X-Service-Signature-Base64": "a" }, "x-service-signature-base64 is set by the client itself"],
  ])("refuse %s: %o", async (name, value, message) => {
    await expectRefusal(call({ [name]: value }), message);
  });
});

describe.each(everyOperation.filter(({ path }) => path.parameters.length > 0))("an id of $name", (row) => {
  it.each<readonly [string, unknown]>([
    ...noTexts.filter(([, value]) => value !== 7),
    ["a number", 7.5],
    ["undefined", undefined],
    ["an empty string", ""],
    ['"."', "."],
    ['".."', ".."],
    ["a control character", "1\n"],
    ["a control character", "\u00001"],
    ["a lone surrogate", "\ud800"],
  ])("can't be %s", async (name, id) => {
    const { parameters } = row.path;
    for (const [index, parameter] of parameters.entries()) {
      const ids = parameters.map((_, at) => (at === index ? id : "1"));
      await expectRefusal(() => callWithIds(row.name, ids), parameter, name);
    }
  });
});

function callWithIds(name: string, ids: readonly unknown[]): unknown {
  const steps = name.split(".");
  const rest = [...ids];
  let at: unknown = client;
  for (const [index, step] of steps.entries()) {
    const member = Reflect.get(at as object, step) as (...given: unknown[]) => unknown;
    if (index === 0) at = member;
    else if (index < steps.length - 1) at = member.call(at, rest.shift());
    else at = member.call(at, ...rest, ...(step === "update" || step === "create" ? [{ currency: "EUR" }] : []));
  }
  return at;
}

describe("extras", () => {
  const create = (extras: unknown) => () => client.payments.create({ ...payment, extras });
  const deep = (levels: number, wrap: (inner: unknown) => unknown) => {
    let value: unknown = "end";
    for (let level = 0; level < levels; level += 1) value = wrap(value);
    return value;
  };
  const itself: Record<string, unknown> = { a: [{}] };
  itself.b = { itself };

  it.each<[string, unknown, string]>([
    ["a bigint", 7n, "extras must be a JSON value; got a bigint"],
    ["a symbol", Symbol(secret), "got a symbol"],
    ["Infinity", [1, Number.POSITIVE_INFINITY], "extras[1] must be a JSON value; got a number"],
    ["a Set", new Set([secret]), "got a Set"],
    ["a Promise", Promise.resolve(secret), "got a Promise"],
    ["bytes that have no toJSON", new Uint8Array(3), "got a Uint8Array"],
    ["a boxed string", new String(secret), "got a String"],
    ["itself", itself, "has more, or contains itself"],
    ["20,000 arrays in one another", deep(20_000, (inner) => [inner]), "at most 100 levels"],
    ["20,000 objects in one another", deep(20_000, (inner) => ({ inner })), "at most 100 levels"],
  ])("can't hold %s", async (_, extras, message) => {
    await expectRefusal(create(extras), "payments.create: extras", message);
  });
});
