import { inspect } from "node:util";
import { CrossBorderClient, InvalidArgumentError } from "cross-border-payments";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { base64, pkcs8, spki } from "../signing/test-keys.js";
import { errorOf } from "../support/error-of.js";
import { keyPairOf } from "../support/key-pairs.js";
import { bodyOf, callByName, callWithIds, everyOperation, filterOf } from "./call-by-name.js";

const { privateKey, publicKey } = keyPairOf("gateway");
/** Stands in every bad value that can hold a text: it appears in no message. */
const secret = "hunter22";

const fetch = vi.fn();
const accessToken = vi.fn();
const client = new CrossBorderClient({
  ...{ baseUrl: "https://service.test", auth: { accessToken }, signingKey: privateKey, fetch },
});

beforeEach(() => void vi.clearAllMocks());

/** The call is refused with a message, and nothing is sent or asked for, not even a token. */
async function expectRefusal(call: () => unknown, ...messages: readonly string[]): Promise<Error> {
  const error = await errorOf((async () => call())());
  expect(error).toBeInstanceOf(InvalidArgumentError);
  for (const message of messages) expect(error.message).toContain(message);
  expect(error.message).not.toContain(secret);
  expect(error.message.length).toBeLessThan(4096);
  expect(error.effect).toBe("none");
  expect([fetch.mock.calls, accessToken.mock.calls]).toEqual([[], []]);
  return error;
}

/** Values that are neither texts nor objects with fields, and what they are called. */
const values: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a boolean", true],
  ["NaN", Number.NaN],
  ["a symbol", Symbol(secret)],
  ["a Date", new Date()],
  ["an array", [secret]],
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
});

const texts = ["", ".", "..", "undefined", "null", "1\n", "\u00001", "\ud800"];
it.each([7.5, ...texts, ...values.map(([, value]) => value)])("%o can't be an id", async (id) => {
  for (const row of everyOperation.filter(({ path }) => path.parameters.length > 0)) {
    const ids: unknown[] = row.path.parameters.map(() => "1").with(-1, id as string);
    const parameter = row.path.parameters.at(-1) ?? "";
    await expectRefusal(() => callWithIds(client, row, ids, bodyOf(row)), parameter);
  }
});

it.each<[string, unknown, string]>([
  ...["timeout", "timeoutMS", "idempotencyKey", "constructor"].map((name): [string, unknown, string] => {
    return [name, 1, `unknown option "${name}"`];
  }),
  ["signal", new AbortController(), "signal must be an AbortSignal; got an AbortController"],
  ["timeoutMs", "5000", "timeoutMs must be a number of milliseconds"],
  ["timeoutMs", 0, "got 0"],
  ["timeoutMs", 2 ** 31, "up to 2147483647"],
  ["maxRetries", -1, "maxRetries must be a whole number, 0 or more; got -1"],
  ["maxRetries", 0.5, "got 0.5"],
  ["headers", new Headers({ "x-a": secret }), "got a Headers"],
  ["headers", { "x-a": `${secret}\n` }, "x-a must have"],
])("the options of a call can't have %s: %o", async (name, value, message) => {
  await expectRefusal(() => client.paymentIntents.get("1", { [name]: value } as object), message);
});

const pem = pkcs8(privateKey);
const encryption = { cipher: "aes-256-cbc", passphrase: "correct horse" };

/** What people have in place of Base64 of a public key. */
const keys: readonly (readonly [what: string, key: unknown])[] = [
  ["a private key in PEM", pem],
  ["a private key in encrypted PEM", privateKey.export({ type: "pkcs8", format: "pem", ...encryption })],
  ["a private key in Base64 of PEM", base64(pem)],
  ["a private key in Base64 of DER", base64(privateKey.export({ type: "pkcs8", format: "der" }))],
  ["a private key in JWK", JSON.stringify(privateKey.export({ format: "jwk" }))],
  ["a private KeyObject", privateKey],
  ["a public key in PEM", spki(publicKey)],
];

/** The fields of public keys in bodies, filters, and queries. */
const places: readonly (readonly [string, (client: CrossBorderClient, key: string) => PromiseLike<unknown>])[] = [
  ["create", (client, key) => client.paymentGateways.create({ institutionId: "a", rsaPublicKeyBase64: key })],
  ["update", (client, key) => client.paymentGateways.update("1", { rsaPublicKeyBase64: key })],
  ["filter", (client, key) => client.paymentGateways.list({ filter: { rsaPublicKeyBase64: key } })],
  ["query", (client, key) => client.paymentGateways.get("1", { query: { rsaPublicKeyBase64: key } })],
  ["payments", (client, key) => client.payments.list({ filter: { creationRequestPublicKeyBase64: key } })],
];

describe.each(places)("the place of a public key (%s)", (_, call) => {
  it.each(keys)("refuses %s, says nothing of it, and sends nothing", async (_, key) => {
    const error = await expectRefusal(
      () => call(client, key as string),
      "ublicKeyBase64 must be ",
      "as publicKeyToBase64",
    );
    const shown = [inspect(error, { showHidden: true, depth: 9 }), JSON.stringify(error)].join();
    for (const piece of `${key}`.replace(/-----[A-Z ]+-----/g, "").match(/\S{20}/g) ?? []) {
      expect(shown).not.toContain(piece);
    }
  });
});
