import { constants, createHash, generateKeyPairSync, sign } from "node:crypto";
import { Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { explainSignature, fingerprintOf, type SignatureQuestion } from "../../src/verification/explain-signature.js";
import { candidatesOf } from "../../src/verification/signed-text-variants.js";
import { keyPairOf } from "../support/key-pairs.js";
import { runs } from "../support/thorough.js";

const keys = keyPairOf("gateway");
const others = keyPairOf("stranger");
const path = "/gateway/v1/payments";
const body = '{"id":"1","receiverName":"Zoë & Söhne","extras":{"url":"a/b"},"amount":"1.50"}';
const origin = "https://service.test";
const pem = (key: typeof keys.publicKey) => key.export({ type: "spki", format: "pem" }).toString();
const right = { path, body: Buffer.from(body), publicKey: pem(keys.publicKey) };
const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text);

function signed(text: string | Uint8Array, hash = "sha256", key = keys.privateKey): string {
  return sign(hash, Buffer.from(text), key).toString("base64");
}

/** What is said of it: `aspect: problem`. */
function explained(signature: string, more: Partial<SignatureQuestion> = {}): string[] {
  const { findings } = explainSignature({ ...right, signature, ...more });
  return findings.map(({ aspect, problem }) => `${aspect}: ${problem}`);
}

it("finds nothing wrong with what is right", () => {
  const explanation = explainSignature({ ...right, signature: signed(path + body) });
  const digest = sha256(path + body).digest("hex");
  const fingerprint = sha256(keys.publicKey.export({ type: "spki", format: "der" })).digest("hex");
  expect(explanation).toEqual({
    ...{ isValid: true, findings: [], wantedDigest: digest, fingerprint },
    found: { hash: "sha256", digest },
  });
  expect(fingerprintOf(right.publicKey)).toBe(fingerprint);
});

it("sends nothing", async () => {
  const sent = [vi.spyOn(Socket.prototype, "connect"), vi.spyOn(globalThis, "fetch")];
  expect(explainSignature({ ...right, signature: signed("") }).isValid).toBe(false);
  await new Promise((resolve) => setImmediate(resolve));
  for (const spy of sent) expect(spy).not.toHaveBeenCalled();
});

describe("the text", () => {
  const content = JSON.parse(body);
  const python = body.replaceAll('":', '": ').replaceAll(',"', ', "');
  const again = (how: string) => `body: signed with the body written anew (${how}), and not the bytes that were sent`;
  it.each<[wrong: string, text: string | Uint8Array, more?: Partial<SignatureQuestion>]>([
    ["path: signed with no base path (/gateway/v1)", `/payments${body}`],
    [`path: signed with the whole address (${origin}) in place of the path`, origin + path + body, { origin }],
    ["path: signed with no query, though the request has one", path + body, { path: `${path}?a=b` }],
    ["path: signed with a slash at the end of the path", `${path}/${body}`],
    [
      "path: signed with the base path (/gateway/v1) in place of /internal",
      path + body,
      { path: "/internal/payments", basePath: "/gateway/v1" },
    ],
    [
      "path: signed with the path decoded, though the request has it percent-encoded",
      `/payments/a b${body}`,
      { path: "/payments/a%20b" },
    ],
    ["body: signed with a newline at the end of the body, which was not sent", `${path}${body}\n`],
    ["body: signed with no body", path],
    [again("indented by 2"), path + JSON.stringify(content, null, 2)],
    [again("with a space after each colon and comma"), path + python],
    [
      again("with a space after each colon and comma, everything but ASCII escaped"),
      path + python.replaceAll("ë", "\\u00eb").replaceAll("ö", "\\u00f6"),
    ],
    [again("without white space, slashes escaped"), path + body.replaceAll("/", "\\/")],
    [again("without white space, <, > and & escaped"), path + body.replaceAll("&", "\\u0026")],
    [
      again("without white space, its fields sorted"),
      path + JSON.stringify(Object.fromEntries(Object.entries(content).sort())),
    ],
    ["text: signed with a newline between path and body", `${path}\n${body}`],
    ["text: signed with the SHA-256 of the text, which signing hashed once more", sha256(path + body).digest()],
    [
      "text: signed with the SHA-256 of the text in hex, which signing hashed once more",
      sha256(path + body).digest("hex"),
    ],
  ])("says %s", (wrong, text, more) => {
    expect(explained(signed(text), more)).toEqual([wrong]);
  });

  it("says of a body of very many levels what it can", () => {
    const deep = Buffer.from(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    expect(explained(signed(`${path}${deep}\n`), { body: deep })).toEqual([
      "body: signed with a newline at the end of the body, which was not sent",
    ]);
  });

  it("gives both hashes if no text fits", () => {
    const explanation = explainSignature({ ...right, signature: signed("something else") });
    const digest = sha256("something else").digest("hex");
    expect(explanation).toMatchObject({ isValid: false, found: { digest }, findings: [{ aspect: "text" }] });
    const [{ problem, remedy } = { problem: "", remedy: "" }] = explanation.findings;
    expect(problem).toContain(`it holds the SHA-256 ${digest}`);
    expect(remedy).toContain(explanation.wantedDigest);
  });

  it("explains whatever people make of path, body and what is between them", () => {
    const candidates = candidatesOf({ ...right, origin }).filter(({ mistakes }) => mistakes.length <= 3);
    fc.assert(
      fc.property(fc.constantFrom(...candidates), ({ mistakes, text }) => {
        const { isValid, findings } = explainSignature({ ...right, origin, signature: signed(text()) });
        expect(isValid).toBe(mistakes.length === 0);
        // Two mistakes can come to the same text as one other.
        expect(findings.length).toBeLessThanOrEqual(mistakes.length);
        expect(findings.every(({ problem }) => problem.startsWith("signed with "))).toBe(true);
      }),
      { numRuns: runs(25) },
    );
  });
});

describe("the algorithm", () => {
  it.each([
    ["sha1", "SHA-1"],
    ["sha384", "SHA-384"],
    ["sha512", "SHA-512"],
  ])("says that it was %s", (hash, title) => {
    const { findings } = explainSignature({ ...right, signature: signed(path + body, hash) });
    const remedy = "sign with RSA, SHA-256 and the padding PKCS#1 v1.5";
    expect(findings).toEqual([{ aspect: "algorithm", problem: `it was made with ${title} and PKCS#1 v1.5`, remedy }]);
  });

  it.each([
    ["SHA-256", "sha256", constants.RSA_PSS_SALTLEN_MAX_SIGN],
    ["SHA-1", "sha1", constants.RSA_PSS_SALTLEN_DIGEST],
  ])("says that it was PSS with %s, whatever its salt", (title, hash, saltLength) => {
    const key = { key: keys.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
    const made = (text: string) => sign(hash, Buffer.from(text), key).toString("base64");
    expect(explained(made(`${path}${body}\n`))).toEqual([
      `algorithm: it was made with ${title} and PSS`,
      "body: signed with a newline at the end of the body, which was not sent",
    ]);
    expect(explained(made("something else"))).toEqual([expect.stringMatching(/^key: /)]);
  });
});

describe("the key", () => {
  const byOther = signed(path + body, "sha256", others.privateKey);

  it("says that another one signed", () => {
    const problem = "it was not made with the registered key, or it was damaged: 256 bytes";
    const remedy = "sign with the private key whose public key is registered: compare the fingerprints of both";
    const { isValid, findings } = explainSignature({ ...right, signature: byOther });
    expect([isValid, findings]).toEqual([false, [{ aspect: "key", problem, remedy }]]);
  });

  it("says which one, if it is known", () => {
    const third = generateKeyPairSync("rsa", { modulusLength: 3072 }).publicKey;
    const old = pem(others.publicKey);
    const otherKeys = new Map(Object.entries({ "third.pem": pem(third), "old.pem": old }));
    expect(explained(byOther, { otherKeys })).toEqual([
      `key: it was made with another key: old.pem (SHA-256 ${fingerprintOf(old)})`,
    ]);
  });

  it("takes no damaged signature for one of the key", () => {
    const damaged = Buffer.from(signed(path + body), "base64").map((byte, index) => (index === 100 ? byte ^ 1 : byte));
    expect(explained(Buffer.from(damaged).toString("base64"))).toEqual([expect.stringMatching(/^key: /)]);
  });

  it("is refused if it is none, before anything else", () => {
    expect(() => explainSignature({ ...right, signature: "x", publicKey: "x" })).toThrow(/publicKey is text/);
  });
});

describe("the Base64", () => {
  // A path whose signature has characters that differ between the alphabets.
  const paths = Array.from({ length: 50 }, (_, index) => `${path}?${index}`);
  const asked = { path: paths.find((each) => /\+.*\/|\/.*\+/.test(signed(each + body))) ?? path };
  const written = signed(asked.path + body);
  it.each([
    ["has a line break or another white space at its beginning or end", `${written}\n`],
    ["is wrapped into lines", written.replace(/(.{64})/g, "$1\n")],
    ["lacks its padding (=), or has too much of it", written.replace(/=+$/, "")],
    ["is in hexadecimal", Buffer.from(written, "base64").toString("hex")],
    ["is in the alphabet for URLs (- and _ in place of + and /)", Buffer.from(written, "base64").toString("base64url")],
    ["is nothing", ""],
    ["is not Base64: 9 characters", "hm, well!"],
    ["is Base64 of only 1 byte", " AQ==\n"],
    ["is Base64 of only 127 bytes", Buffer.alloc(127).toString("base64")],
  ])("says that the signature %s", (wrong, text) => {
    expect(explained(text, asked)).toEqual([`base64: the signature ${wrong}`]);
  });
});
