import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeBody } from "../../src/wire/decode-body.js";

function cut(text: string, places: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text);
  const at = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

it("gives the text of a body however it was cut into pieces, one body after another", () => {
  const body = fc.tuple(fc.string({ unit: "binary", maxLength: 300 }), fc.array(fc.nat(), { maxLength: 5 }));
  fc.assert(
    fc.property(fc.array(body, { minLength: 1, maxLength: 5 }), (bodies) => {
      const texts = bodies.map(([text, places]) => decodeBody(cut(text, places)).text);
      expect(texts).toEqual(bodies.map(([text]) => text.replace(/^\uFEFF/, "")));
    }),
  );
});

it("gives a body of any size, and a small one after it", () => {
  const large = "é".repeat(3 * 2 ** 20);
  expect(decodeBody(cut(large, [1, 2 ** 20 + 1])).text === large).toBe(true);
  expect(decodeBody(cut("[]", [1]))).toEqual({ text: "[]" });
});

it("says when the pieces together are not UTF-8", () => {
  expect(decodeBody([Buffer.from("é").subarray(0, 1), Buffer.from("x")])).toEqual({
    text: "\uFFFDx",
    broken: "not-utf8",
  });
});
