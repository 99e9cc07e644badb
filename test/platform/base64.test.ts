import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeBase64, encodeBase64 } from "../../src/platform/base64.js";

it("encodes and decodes any bytes as Buffer does", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const text = encodeBase64(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("base64"));
      expect(decodeBase64(text)).toEqual(bytes);
    }),
  );
});

it.each([
  ["Zm9v\r\nYmFy\n", "foobar"],
  ["Zm9vYg", "foob"],
  ["Zm9vYh==", "foob"],
  ["", ""],
])("decodes %j", (text, decoded) => {
  expect(new TextDecoder().decode(decodeBase64(text))).toBe(decoded);
});

it.each(["Zm9v-_8=", "Zm9vY", "Zm9vYg=", "Zm9vYg===", "Zm=9", "Zm9v.", "ž", "="])(
  "tells that %j is not Base64",
  (text) => {
    expect(decodeBase64(text)).toBeUndefined();
  },
);
