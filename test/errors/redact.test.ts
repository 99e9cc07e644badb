import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactText } from "../../src/errors/redact.js";

const jwt = ["eyJhbGciOiJSUzI1NiJ9", "eyJzdWIiOiIxIn0", "c2lnbmF0dXJl"].join(".");
const pem = (name: string) => `-----BEGIN ${name}-----\nAAAA\nBBBB\n-----END ${name}-----`;

describe("redactText", () => {
  it.each([
    ["a private key", `key: ${pem("PRIVATE KEY")} end`, "key: [key] end"],
    ["an encrypted key", pem("ENCRYPTED PRIVATE KEY"), "[key]"],
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
      "JSON in JSON",
      String.raw`{"m":"{\"senderAccount\":\"DE11\",\"a\":\"b\"}"}`,
      String.raw`{"m":"{\"senderAccount\":\"[redacted]\",\"a\":\"b\"}"}`,
    ],
    ["account numbers by name", "receiverAccount: US99 is closed", "receiverAccount: [redacted] is closed"],
  ])("takes %s out", (_, text, safe) => {
    expect(redactText(text)).toBe(safe);
  });

  it("leaves ordinary words alone", () => {
    const text = "payments.create: senderAccount must be a string; the response to 12 of 34 broke off";
    expect(redactText(text)).toBe(text);
  });

  it("takes the given values out wherever they stand, but none of fewer than four characters", () => {
    expect(redactText("DE12345 and DE12345!", ["DE12345", "and"])).toBe("[redacted] and [redacted]!");
  });

  it("takes a value for the text that it is", () => {
    expect(redactText("pay $& a.c* now", ["$& a.c*"])).toBe("pay [redacted] now");
  });

  it("leaves nothing standing of a value that begins with another", () => {
    expect(redactText("account 12345678", ["1234", "12345678"])).toBe("account [redacted]");
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

  it("does the same to a text that it has been through", () => {
    const text = `password=abc Bearer xyz ${jwt} ${pem("PRIVATE KEY")}`;
    expect(redactText(redactText(text))).toBe(redactText(text));
  });
});
