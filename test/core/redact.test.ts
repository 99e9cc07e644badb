import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isShowable, redactText } from "../../src/core/redact.js";

const jwt = ["eyJhbGciOiJSUzI1NiJ9", "eyJzdWIiOiIxIn0", "c2lnbmF0dXJl"].join(".");
const pem = (name: string) => `-----BEGIN ${name}-----\nAAAA\nBBBB\n-----END ${name}-----`;

describe("redactText", () => {
  it.each([
    ["a private key", `key: ${pem("PRIVATE KEY")} end`, "key: [key] end"],
    ["a key that is cut off", "-----BEGIN RSA PRIVATE KEY-----\nAAAA", "[key]"],
    ["two keys", `${pem("A")} and ${pem("B")}`, "[key] and [key]"],
    ["a JSON web token", `token ${jwt} refused`, "token [token] refused"],
    ["a bearer token", "Authorization: Bearer abc.def-123 was sent", "Authorization: Bearer [token] was sent"],
    ["basic credentials", "basic dXNlcjpwYXNz", "basic [token]"],
    [
      "a form",
      "grant_type=password&password=p%40ss&client_secret=s3&x=1",
      "grant_type=password&password=[redacted]&client_secret=[redacted]&x=1",
    ],
    [
      "JSON",
      '{"access_token": "abc", "refresh_token":"def", "a":1}',
      '{"access_token": "[redacted]", "refresh_token":"[redacted]", "a":1}',
    ],
    [
      "names as programs have them",
      '{"accessToken": "abc", "refreshToken":"def", "idToken":"x", "clientSecret":"s3"}',
      '{"accessToken": "[redacted]", "refreshToken":"[redacted]", "idToken":"[redacted]", "clientSecret":"[redacted]"}',
    ],
    [
      "names as the environment has them",
      "PGPASSWORD=a1 BANK_CLIENT_SECRET=b2",
      "PGPASSWORD=[redacted] BANK_CLIENT_SECRET=[redacted]",
    ],
    [
      "the password of an address",
      "open 'postgres://bank:p#s?s:w@rd@db/payments'",
      "open 'postgres://bank:[redacted]@db/payments'",
    ],
    ["account numbers by name", "receiverAccount: US99 is closed", "receiverAccount: [redacted] is closed"],
    ["a quoted account in groups", '{"senderAccount":"DE12 3456 7890"}', '{"senderAccount":"[redacted]"}'],
    ["a name with an apostrophe", '{"senderName":"Erin O\'Brien","a":1}', '{"senderName":"[redacted]","a":1}'],
    [
      "a name with an escape",
      String.raw`{"senderName":"M\u00fcller \"M\"","a":1}`,
      '{"senderName":"[redacted]","a":1}',
    ],
    ["an account before words", "senderAccount: DE12 from A to B", "senderAccount: [redacted] from A to B"],
    [
      "an account in JSON in JSON in JSON",
      JSON.stringify(JSON.stringify(JSON.stringify({ senderAccount: "DE11", a: 1 }))),
      JSON.stringify(JSON.stringify(JSON.stringify({ senderAccount: "[redacted]", a: 1 }))),
    ],
    ["a name over two lines of a source", 'senderName: "Zoë \\\nMüller", a', 'senderName: "[redacted]", a'],
    ["a value of four characters, and nothing around it,", "code 1234 refused", "code [redacted] refused", ["1234"]],
  ] as [string, string, string, string[]?][])("takes %s out", (_, text, safe, values) => {
    expect(redactText(text, values)).toBe(safe);
  });

  it("takes the given values out wherever they stand, but none of fewer than four characters", () => {
    expect(redactText("DE12345 and DE12345!", ["DE12345", "and"])).toBe("[redacted] and [redacted]!");
  });

  it("leaves no given value in the text, whatever stands around it", () => {
    const value = fc.stringMatching(/^[0-9]{4,12}$/);
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), fc.array(fc.string()), (values, words) => {
        const safe = redactText(values.map((one, index) => `${words[index] ?? ""} ${one} `).join("|"), values);
        for (const one of values) expect(safe).not.toContain(one);
      }),
    );
  });

  it.each([
    ["ordinary words", "payments.create: senderAccount must be a string; the response to 12 of 34 broke off"],
    ["a word that begins like a token", "key eyJhbGciOiJSUzI1NiJ9 unknown"],
    ["a word behind a dot and before one", "v1.2 eyJhbGci"],
    ["a text of 4,096 characters", "a ".repeat(2048)],
    ["addresses without a password", "at file:///a/node_modules/@b/c@1:2:3, https://a:1/@b, redis://bank@db:1"],
  ])("leaves %s alone", (_, text) => {
    expect([redactText(text), isShowable(text, [])]).toEqual([text, true]);
  });

  it("shows the beginning of a long text, without the last quarter of what it has looked at", () => {
    expect(redactText("a ".repeat(2049))).toBe(`${"a ".repeat(1536)}…`);
    expect(isShowable("a ".repeat(2049), [])).toBe(false);
  });

  it("shows nothing of the end of a long text that became short", () => {
    const text = `password="${"p".repeat(4000)}" for ${"DE89 ".repeat(100)}`;
    expect(redactText(text)).toBe("…");
  });
});

const confidential = ["DE12 3456 7890", 'p"ss w\\ord&', "Zoë Müller"];
const spellings: Readonly<Record<string, (value: string) => string>> = {
  "as it is": (value) => value,
  "in JSON": (value) => JSON.stringify({ value }),
  "in an address": (value) => `/payments?q=${encodeURIComponent(value)}`,
  "in a form": (value) => new URLSearchParams({ q: value }).toString(),
};

it.each(Object.entries(spellings))("finds a confidential value %s", (_, spell) => {
  for (const value of confidential) {
    expect(isShowable(spell(value), confidential)).toBe(false);
    const shown = redactText(`refused: ${spell(value)}`, confidential);
    expect(shown).toMatch(/^(?:refused: .{0,13})?\[redacted\]["}]*$/);
  }
});

it.each(["eyJ-", "-----BEGIN ", "://", 'password":"', "\\"])(
  "takes no longer for 256 KiB of %j than for what it reads",
  (piece) => {
    const start = process.cpuUsage();
    expect(redactText(piece.repeat(2 ** 18 / piece.length), confidential).length).toBeLessThan(16_384);
    expect(process.cpuUsage(start).user).toBeLessThan(100_000);
  },
);
