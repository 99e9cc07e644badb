import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  derTags,
  readElements,
  readOid,
  readPositiveInteger,
  readSequence,
  writeElement,
} from "../../src/platform/der.js";
import { runs } from "../support/thorough.js";

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
const tag = fc.constantFrom(...Object.values(derTags));

describe("readElements", () => {
  it.each([0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000])("reads back an element of %d bytes", (length) => {
    const content = new Uint8Array(length).fill(7);
    expect(readElements(writeElement(derTags.octetString, content))).toEqual([{ tag: derTags.octetString, content }]);
  });

  it("reads back any elements that follow one another", () => {
    const element = fc.record({ tag, content: fc.uint8Array({ maxLength: 300 }) });
    fc.assert(
      fc.property(fc.array(element, { maxLength: 5 }), (elements) => {
        const written = elements.map(({ tag, content }) => writeElement(tag, content));
        expect(
          readElements(Buffer.concat(written))?.map(({ tag, content }) => ({ tag, content: [...content] })),
        ).toEqual(elements.map(({ tag, content }) => ({ tag, content: [...content] })));
      }),
    );
  });

  it("takes no bytes but those that it would write itself", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const elements = readElements(bytes);
        if (elements === undefined) return;
        const written = elements.map(({ tag, content }) => writeElement(tag, content));
        expect([...Buffer.concat(written)]).toEqual([...bytes]);
      }),
      { numRuns: runs(2000) },
    );
  });

  it.each([
    ["without a length", "04"],
    ["shorter than its length", "040301"],
    ["of indefinite length", "0480010000"],
    ["whose length is longer than it need be", "04810101"],
    ["whose length starts with a zero", "0482000101"],
    ["whose length is cut off", "0482ff"],
    ["whose length has more bytes than any key's", "048400000001ff"],
  ])("refuses an element %s", (_name, hex) => {
    expect(readElements(bytes(hex))).toBeUndefined();
  });
});

describe("readSequence", () => {
  it("reads the elements of a sequence that fills all bytes", () => {
    expect(readSequence(bytes("30050500020107"))).toHaveLength(2);
    expect(readSequence(bytes("3000"))).toEqual([]);
  });

  it.each(["", "0500", "30000500", "3000ff", "30020480"])("refuses %j", (hex) => {
    expect(readSequence(bytes(hex))).toBeUndefined();
  });
});

describe("readPositiveInteger", () => {
  it.each([
    ["01", "01"],
    ["7f", "7f"],
    ["0080", "80"],
    ["00ff01", "ff01"],
  ])("reads %s", (content, value) => {
    expect(readPositiveInteger({ tag: derTags.integer, content: bytes(content) })).toEqual(bytes(value));
  });

  it.each(["", "00", "80", "ff", "007f", "000080"])("refuses %j", (content) => {
    expect(readPositiveInteger({ tag: derTags.integer, content: bytes(content) })).toBeUndefined();
  });

  it("refuses what is not an integer", () => {
    expect(readPositiveInteger({ tag: derTags.octetString, content: bytes("01") })).toBeUndefined();
  });
});

describe("readOid", () => {
  // From ITU-T X.690, 8.19, and from the registries of the algorithms.
  it.each([
    ["883703", "2.999.3"],
    ["2a864886f70d010101", "1.2.840.113549.1.1.1"],
    ["2b6570", "1.3.101.112"],
    ["608648016503040311", "2.16.840.1.101.3.4.3.17"],
    ["00", "0.0"],
  ])("reads %s as %s", (content, dotted) => {
    expect(readOid({ tag: derTags.oid, content: bytes(content) })).toBe(dotted);
  });

  it.each(["", "2a86", "80"])("refuses %j", (content) => {
    expect(readOid({ tag: derTags.oid, content: bytes(content) })).toBeUndefined();
  });
});
