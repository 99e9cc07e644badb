import type { KnownSurvivor } from "../known-survivor.js";

const openedSignature = "src/verification/opened-signature.ts";
const verifyRecord = "src/verification/verify-record.ts";

export const verification: readonly KnownSurvivor[] = [
  ...["true", "saltAt >= 2"].map((replacement) => ({
    file: openedSignature,
    line: 'return { scheme: { padding: "PSS", hash }, fits, zeros: saltAt > 2 ? saltAt : 0 };',
    replacement,
    why: "By chance a block of another hash has one or two zeros: in one of 30,000 signatures.",
  })),
  {
    file: openedSignature,
    line: "const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;",
    replacement: "key.asymmetricKeyDetails.modulusLength",
    why: "For the compiler: a public key of RSA has them.",
  },
  { file: openedSignature, line: "} catch {", replacement: "{}", why: "A function that ends gives undefined." },
  {
    file: openedSignature,
    line: "for (let counter = 0; counter * digestBytes(hash) < length; counter += 1) {",
    replacement: "counter * digestBytes(hash) <= length",
    why: "What is too long is cut off.",
  },
  {
    file: verifyRecord,
    line: 'const [pathname = ""] = path.split("?");',
    replacement: '"Stryker was here!"',
    why: "For the compiler: a text that is split has a first part.",
  },
  {
    file: verifyRecord,
    line: 'return pathname.replace(/\\/$/, "").endsWith(creation().path.texts.at(-1) ?? "");',
    original: '""',
    replacement: '"Stryker was here!"',
    why: "For the compiler: both rows of the catalogue have a path.",
  },
  {
    file: verifyRecord,
    line: "if (signed === undefined || written === undefined) return false;",
    original: "written === undefined",
    replacement: "false",
    why: "For the compiler: both rows of the catalogue have a body.",
  },
  {
    file: verifyRecord,
    line: "return one.length === other.length && one.every((byte, index) => byte === other[index]);",
    original: "one.length === other.length",
    replacement: "true",
    why: "The DER form of a key begins with its length: none is the beginning of another.",
  },
  {
    file: "src/verification/signature-text.ts",
    line: 'const bare = text.replace(/=+$/, "");',
    replacement: "/=+/",
    why: "What has an equals sign before its end is no Base64: what is wrong with it would be named less exactly.",
  },
];
