import { constants, createHash, createSign, generateKeyPairSync, privateEncrypt, sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explainSignature, fingerprintOf, type SignatureQuestion } from "../../src/verification/explain-signature.js";
import { bodyVariants, joinVariants, pathVariants } from "../../src/verification/signed-text-variants.js";
import { keyPairOf } from "../support/key-pairs.js";
import { runs } from "../support/thorough.js";

const keys = keyPairOf("gateway");
const others = keyPairOf("stranger");
const path = "/gateway/v1/payments";
const body = '{"id":"1","receiverName":"Zoë & Söhne","extras":{"url":"a/b"},"amount":"1.50"}';
const pem = (key: typeof keys.publicKey) => key.export({ type: "spki", format: "pem" }).toString();
const right = { path, body: Buffer.from(body), publicKey: pem(keys.publicKey) };

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
  expect(explanation).toMatchObject({ isValid: true, findings: [] });
  expect(explanation.found).toEqual({ hash: "sha256", digest: explanation.wantedDigest });
  expect(explanation.wantedDigest).toBe(
    createHash("sha256")
      .update(path + body)
      .digest("hex"),
  );
  const der = keys.publicKey.export({ type: "spki", format: "der" });
  expect(explanation.fingerprint).toBe(createHash("sha256").update(der).digest("hex"));
});

describe("the text", () => {
  const content = JSON.parse(body);
  const python = body.replaceAll('":', '": ').replaceAll(',"', ', "');
  it.each<[wrong: string, text: string | Uint8Array, more?: Partial<SignatureQuestion>]>([
    ["body: signed with a newline at the end of the body, which was not sent", `${path}${body}\n`],
    ["path: signed with no base path (/gateway/v1)", `/payments${body}`],
    ["path: signed with no base path (/gateway/v1)", `/payments${body}`, { basePath: "/gateway/v1" }],
    [
      "path: signed with the whole address (https://service.test) in place of the path",
      `https://service.test${path}${body}`,
      { origin: "https://service.test" },
    ],
    [
      "path: signed with the host (service.test) in front of the path",
      `service.test${path}${body}`,
      { origin: "https://service.test" },
    ],
    ["path: signed with no query, though the request has one", path + body, { path: `${path}?a=b` }],
    ["path: signed with a slash at the end of the path", `${path}/${body}`],
    ["path: signed with no path", body],
    // What nginx makes of paths if its proxy_pass has one: decoded as far as it goes, slashes merged, a prefix replaced.
    [
      "path: signed with all of the path percent-encoded, where the request has some of it plain",
      `/v1/liquidity-providers/LP%3A7%2B%27%C3%A9/deposits${body}`,
      { path: "/v1/liquidity-providers/LP:7+'%C3%A9/deposits" },
    ],
    ["path: signed with two slashes where the request has one", `/v1//payments${body}`, { path: "/v1/payments" }],
    ["path: signed with one slash where the request has more", `/v1/payments${body}`, { path: "//v1//payments" }],
    [
      "path: signed with the base path (/gateway/v1) in place of /internal",
      path + body,
      { path: "/internal/payments", basePath: "/gateway/v1" },
    ],
    [
      "path: signed with the path decoded, where the request has it percent-encoded",
      `/payments/a b${body}`,
      { path: "/payments/a%20b" },
    ],
    [
      "body: signed with the body written anew (indented by 2), and not the bytes that were sent",
      path + JSON.stringify(content, null, 2),
    ],
    [
      "body: signed with the body written anew (with a space after each colon and comma), and not the bytes that were sent",
      path + python,
    ],
    [
      "body: signed with the body written anew (with a space after each colon and comma, everything but ASCII escaped), and not the bytes that were sent",
      path + python.replaceAll("ë", "\\u00eb").replaceAll("ö", "\\u00f6"),
    ],
    [
      "body: signed with the body written anew (without white space, slashes escaped), and not the bytes that were sent",
      path + body.replaceAll("/", "\\/"),
    ],
    [
      "body: signed with the body written anew (without white space, <, > and & escaped), and not the bytes that were sent",
      path + body.replaceAll("&", "\\u0026"),
    ],
    ["body: signed with no body", path],
    ["body: signed with the body without its extras", path + JSON.stringify({ ...content, extras: undefined })],
    [
      "body: signed with the SHA-256 of the body (hex) in place of the body",
      path + createHash("sha256").update(body).digest("hex"),
    ],
    [
      "body: signed with the body written anew (without white space, its fields sorted), and not the bytes that were sent",
      path + JSON.stringify(Object.fromEntries(Object.entries(content).sort())),
    ],
    [
      "body: signed with the body written anew (without white space), with a newline at its end",
      `${path}{"a":[1,{"b":2}]}\n`,
      { body: Buffer.from('{ "a": [1, { "b": 2 }] }') },
    ],
    ["text: signed with a newline between path and body", `${path}\n${body}`],
    ["text: signed with the body in front of the path", body + path],
  ])("says %s", (wrong, text, more) => {
    expect(explained(signed(text), more)).toEqual([wrong]);
  });

  it("finds several mistakes at once", () => {
    expect(explained(signed(`/payments\n${body}\n`))).toEqual([
      "path: signed with no base path (/gateway/v1)",
      "body: signed with a newline at the end of the body, which was not sent",
      "text: signed with a newline between path and body",
    ]);
  });

  it("says that the hash was hashed once more", () => {
    const digest = createHash("sha256").update(path + body);
    expect(explained(signed(digest.copy().digest()))).toEqual([
      "text: signed with the SHA-256 of the text, which signing hashed once more",
    ]);
    expect(explained(signed(digest.digest("hex")))).toEqual([
      "text: signed with the SHA-256 of the text in hex, which signing hashed once more",
    ]);
  });

  it("says of a body of very many levels what it can", () => {
    const deep = Buffer.from(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    expect(explained(signed(`${path}${deep}\n`), { body: deep })).toEqual([
      "body: signed with a newline at the end of the body, which was not sent",
    ]);
  });

  it("gives both hashes where no text fits", () => {
    const { findings, found, isValid, wantedDigest } = explainSignature({
      ...right,
      signature: signed("something else"),
    });
    expect(found?.digest).toBe(createHash("sha256").update("something else").digest("hex"));
    expect(isValid).toBe(false);
    expect(findings).toHaveLength(1);
    expect(findings[0]?.aspect).toBe("text");
    expect(findings[0]?.remedy).toMatch(/; if a proxy took a base path off, name it$/);
    expect(findings[0]?.problem).toContain(`it holds the SHA-256 ${found?.digest}`);
    expect(findings[0]?.remedy).toContain(wantedDigest);
  });

  it("explains whatever people make of path, body and what is between them", () => {
    const paths = pathVariants({ path, basePath: undefined, origin: "https://service.test" });
    const bodies = bodyVariants(right.body);
    const one = <T>(of: readonly T[]) => fc.constantFrom(...of);
    fc.assert(
      fc.property(one(paths), one(bodies), one(joinVariants), (ofPath, ofBody, join) => {
        const made = [ofPath, ofBody, join].filter(({ mistake }) => mistake !== undefined).length;
        const text = join.value(ofPath.value, ofBody.value);
        const { isValid, findings } = explainSignature({
          ...right,
          origin: "https://service.test",
          signature: signed(text),
        });
        expect(isValid).toBe(made === 0);
        // Two mistakes can come to the same text as one other.
        expect(findings.length).toBeLessThanOrEqual(made);
        expect(findings.every(({ problem }) => problem.startsWith("signed with "))).toBe(true);
      }),
      { numRuns: runs(25) },
    );
  });
});

describe("the algorithm", () => {
  it.each([
    ["sha1", "SHA-1"],
    ["sha224", "SHA-224"],
    ["sha384", "SHA-384"],
    ["sha512", "SHA-512"],
    ["md5", "MD5"],
  ])("says that it was %s", (hash, title) => {
    expect(explained(signed(path + body, hash))).toEqual([`algorithm: it was made with ${title} and PKCS#1 v1.5`]);
  });

  it.each([
    ["SHA-256", "sha256", undefined],
    ["SHA-256", "sha256", 0],
    ["SHA-256", "sha256", constants.RSA_PSS_SALTLEN_MAX_SIGN],
    ["SHA-1", "sha1", constants.RSA_PSS_SALTLEN_DIGEST],
    ["SHA-512", "sha512", constants.RSA_PSS_SALTLEN_DIGEST],
  ])("says that it was PSS with %s, whatever its salt", (title, hash, saltLength) => {
    const options = {
      key: keys.privateKey,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      ...(saltLength !== undefined && { saltLength }),
    };
    const signature = sign(hash, Buffer.from(`${path}${body}\n`), options).toString("base64");
    expect(explained(signature)).toEqual([
      `algorithm: it was made with ${title} and PSS`,
      "body: signed with a newline at the end of the body, which was not sent",
    ]);
    const other = sign(hash, Buffer.from("something else"), options).toString("base64");
    expect(explained(other)).toEqual([expect.stringMatching(/^key: /)]);
  });

  it("says what is right", () => {
    const [finding] = explainSignature({ ...right, signature: signed(path + body, "sha1") }).findings;
    expect(finding?.remedy).toBe("sign with RSA, SHA-256 and the padding PKCS#1 v1.5");
  });

  it("says that the name of the hash is missing", () => {
    const digest = createHash("sha256")
      .update(path + body)
      .digest();
    const signature = privateEncrypt({ key: keys.privateKey, padding: constants.RSA_PKCS1_PADDING }, digest);
    expect(explained(signature.toString("base64"))).toEqual([
      "algorithm: it was made with SHA-256 and PKCS#1 v1.5 without the name of its hash",
    ]);
  });
});

describe("the key", () => {
  const byOther = createSign("sha256")
    .update(path + body)
    .sign(others.privateKey, "base64");

  it("says that another one signed", () => {
    const { isValid, findings } = explainSignature({ ...right, signature: byOther });
    expect(isValid).toBe(false);
    expect(findings).toEqual([
      {
        aspect: "key",
        problem: "it was not made with the registered key, or it was damaged: 256 bytes",
        remedy: "sign with the private key whose public key is registered: compare the fingerprints of both",
      },
    ]);
  });

  it("takes a number above every signature of the key for none", () => {
    expect(explained(Buffer.alloc(256, 0xff).toString("base64"))).toEqual([expect.stringMatching(/^key: /)]);
  });

  it("says which one, where it is known", () => {
    const otherKeys = new Map([
      ["third.pem", pem(generateKeyPairSync("rsa", { modulusLength: 3072 }).publicKey)],
      ["old.pem", pem(others.publicKey)],
    ]);
    const der = others.publicKey.export({ type: "spki", format: "der" });
    const fingerprint = createHash("sha256").update(der).digest("hex");
    expect(explained(byOther, { otherKeys })).toEqual([
      `key: it was made with another key: old.pem (SHA-256 ${fingerprint})`,
    ]);
    const [finding] = explainSignature({ ...right, signature: byOther, otherKeys }).findings;
    expect(finding?.remedy).toMatch(/^sign with the private key whose public key is registered, or register that one$/);
    expect(fingerprintOf(pem(others.publicKey))).toBe(fingerprint);
  });

  it("takes a signature with a single wrong bit for no signature of the key", () => {
    const bytes = Buffer.from(signed(path + body), "base64");
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    expect(explained(bytes.toString("base64"))).toEqual([expect.stringMatching(/^key: /)]);
  });
});

describe("the Base64", () => {
  const signature = signed(path + body);
  it.each([
    ["a line break or another white space at its beginning or end", `${signature}\n`],
    ["stands in quotation marks", `"${signature}"`],
    ["stands in quotation marks", ` ' ${signature} '\n`],
    ["is wrapped into lines", signature.replace(/(.{64})/g, "$1\n")],
    ["is wrapped into lines", `${signature.replace(/(.{76})/g, "$1\r\n")}\r\n`],
    ["lacks its padding (=)", signature.replace(/=+$/, "")],
    ["or has too much of it", `${signature}=`],
    ["or has too much of it", `${signature}====`],
    ["is in hexadecimal", Buffer.from(signature, "base64").toString("hex")],
    ["is followed by a comma and more, as if a header was sent twice", `${signature}, ${signature}`],
    ["has its name or its algorithm in front", `sha256=${signature}`],
    ["has its name or its algorithm in front", `signature="${signature}"`],
    ["was encoded in Base64 twice", Buffer.from(signature).toString("base64")],
  ])("says that the signature %s", (wrong, text) => {
    expect(explained(text)).toEqual([expect.stringContaining(wrong)]);
    const [finding] = explainSignature({ ...right, signature: text }).findings;
    expect(finding?.aspect).toBe("base64");
  });

  it("has nothing but a name in front of it", () => {
    const text = `rsa/sha256=${signature}`;
    expect(explained(text)).toEqual([`base64: the signature is not Base64: ${text.length} characters`]);
  });

  it("is taken for a signature from 128 bytes on, as of RSA with 1,024 bits", () => {
    expect(explained(Buffer.alloc(127).toString("base64"))).toEqual([
      "base64: the signature is Base64 of only 127 bytes",
    ]);
    expect(explained(Buffer.alloc(128).toString("base64"))).toEqual([expect.stringMatching(/^key: .*128 bytes$/)]);
  });

  it("says that it is in the alphabet for URLs, or has lost its plus signs, where it has any", () => {
    const odd = Array.from({ length: 50 }, (_, index) => index)
      .map((index) => ({ more: `${path}${index}`, text: signed(`${path}${index}${body}`) }))
      .find(({ text }) => text.includes("+") && text.includes("/"));
    const { more = "", text = "" } = odd ?? {};
    expect(explained(Buffer.from(text, "base64").toString("base64url"), { path: more })).toEqual([
      expect.stringContaining("the alphabet for URLs"),
    ]);
    expect(explained(text.replaceAll("+", " "), { path: more })).toEqual([expect.stringContaining("plus signs")]);
  });

  it.each([
    ["nothing", ""],
    ["nothing", " \n"],
    ["not Base64: 9 characters", "hm, well!"],
    ["not Base64: 1 character", "!"],
    ["not Base64: 3 characters", "%zz"],
    ["Base64 of only 1 byte", "AQ=="],
    ["Base64 of only 1 byte", " AQ==\n"],
  ])("says that the signature is %s", (wrong, text) => {
    expect(explained(text)).toEqual([`base64: the signature is ${wrong}`]);
    expect(explainSignature({ ...right, signature: text }).isValid).toBe(false);
  });
});

it("refuses a key that is none, before anything else", () => {
  expect(() => explainSignature({ ...right, signature: "x", publicKey: "x" })).toThrow(
    /publicKey is (?:text that is not|a file)/,
  );
});
