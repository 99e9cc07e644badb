import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { keyPairOf } from "../support/key-pairs.js";
import { base64, pkcs8, spki } from "./test-keys.js";

export const { privateKey, publicKey } = keyPairOf("gateway");
export const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
export const ed25519 = generateKeyPairSync("ed25519").privateKey;

export const pem = pkcs8(privateKey);
export const der = (key: KeyObject, type: "pkcs1" | "pkcs8" | "sec1") =>
  key.export({ type: type as "pkcs8", format: "der" });
const pkcs1 = String(privateKey.export({ type: "pkcs1", format: "pem" }));
const encrypted = { cipher: "aes-256-cbc", passphrase: "correct horse" };
const encryptedPkcs8 = String(privateKey.export({ type: "pkcs8", format: "pem", ...encrypted }));
export const jwk = JSON.stringify(privateKey.export({ format: "jwk" }));
export const inLines = (text: string, size = 64) => (text.match(new RegExp(`.{1,${size}}`, "g")) ?? []).join("\n");
export const withoutHeader = (text: string) => text.replace(/-----.*-----\n/g, "");

/** OpenSSH's own format, as far as it can be told: an unencrypted key of the type `ssh-rsa`, with the bytes of this key. */
const openSsh = `-----BEGIN OPENSSH PRIVATE KEY-----\n${inLines(
  base64(Buffer.concat([Buffer.from("openssh-key-v1\0"), randomBytes(16), der(privateKey, "pkcs1")])),
  70,
)}\n-----END OPENSSH PRIVATE KEY-----\n`;

/** Private keys, in the forms that people have them in. */
export const forms: readonly (readonly [string, string])[] = [
  ["PKCS#8 PEM", pem],
  ["PKCS#8 PEM with CRLF", pem.replaceAll("\n", "\r\n")],
  ["PKCS#8 PEM on one line", pem.replaceAll("\n", " ")],
  ["PKCS#8 PEM with escaped breaks", pem.replaceAll("\n", "\\n")],
  ["PKCS#8 PEM, percent-encoded", encodeURIComponent(pem)],
  ["PKCS#1 PEM", pkcs1],
  ["encrypted PKCS#8 PEM", encryptedPkcs8],
  ["encrypted PKCS#1 PEM", String(privateKey.export({ type: "pkcs1", format: "pem", ...encrypted }))],
  ["EC PEM (SEC1)", String(ec.export({ type: "sec1", format: "pem" }))],
  ["EC PEM (PKCS#8)", pkcs8(ec)],
  ["Ed25519 PEM", pkcs8(ed25519)],
  ["OpenSSH", openSsh],
  ["a PEM that is cut off", pem.slice(0, 600)],
  ["PEM without its header", withoutHeader(pem)],
  ["a pair: public, then private", spki(publicKey) + pem],
  ["JWK", jwk],
  ["JWK in a set, with spaces", JSON.stringify({ keys: [JSON.parse(jwk)] }, null, 2)],
  ["JWK inside a JSON string", JSON.stringify(jwk)],
  ["Base64 of PKCS#8 PEM", base64(pem)],
  ["Base64 of PKCS#8 PEM in lines", inLines(base64(pem))],
  ["Base64 of PKCS#8 PEM in lines with CRLF", inLines(base64(pem)).replaceAll("\n", "\r\n")],
  ["Base64 of PKCS#8 PEM between spaces", `  ${base64(pem)}\n`],
  ["Base64 of PKCS#8 PEM in the URL alphabet", Buffer.from(pem).toString("base64url")],
  ["Base64 of PKCS#8 PEM without padding", base64(pem).replace(/=+$/, "")],
  ["Base64 of PKCS#8 PEM in quotes", `"${base64(pem)}"`],
  ["Base64 of PKCS#8 PEM in UTF-16", base64(Buffer.from(pem, "utf16le"))],
  ["Base64 of PKCS#1 PEM", base64(pkcs1)],
  ["Base64 of encrypted PKCS#8 PEM", base64(encryptedPkcs8)],
  ["Base64 of OpenSSH", base64(openSsh)],
  ["Base64 of the pair", base64(spki(publicKey) + pem)],
  ["Base64 of the public, then of the private", `${base64(spki(publicKey))}\n${base64(pem)}`],
  ["Base64 of JWK", base64(jwk)],
  ["Base64 of Base64 of PEM", base64(base64(pem))],
  ["Base64 of Base64 of PEM in lines", base64(`${inLines(base64(pem))}\n`)],
  ["Base64 of Base64 of DER", base64(base64(der(privateKey, "pkcs8")))],
  ["Base64 of PKCS#8 DER", base64(der(privateKey, "pkcs8"))],
  ["Base64 of PKCS#1 DER", base64(der(privateKey, "pkcs1"))],
  ["Base64 of SEC1 DER", base64(der(ec, "sec1"))],
  ["Base64 of EC PKCS#8 DER", base64(der(ec, "pkcs8"))],
  ["Base64 of DER with a line break behind it", base64(Buffer.concat([der(privateKey, "pkcs8"), Buffer.from("\n")]))],
  ["Base64 of encrypted PKCS#8 DER", withoutHeader(encryptedPkcs8)],
  ["Base64 of DER in the URL alphabet", der(privateKey, "pkcs8").toString("base64url")],
  ["hex of PKCS#8 DER", der(privateKey, "pkcs8").toString("hex")],
  ["hex of PKCS#1 DER, upper case", der(privateKey, "pkcs1").toString("hex").toUpperCase()],
  ["a data URL", `data:application/x-pem-file;base64,${base64(pem)}`],
  ["Base64 in short lines with escaped breaks", inLines(base64(pem), 20).replaceAll("\n", "\\n")],
  ["Base64 in the lines of a source", inLines(base64(pem), 32).replace(/^(.*)$/gm, '"$1",')],
  ["Base64, percent-encoded", encodeURIComponent(inLines(base64(der(privateKey, "pkcs8"))))],
  [
    "hex with colons",
    der(privateKey, "pkcs8")
      .toString("hex")
      .replace(/..(?=.)/g, "$&:"),
  ],
  ["UTF-16 that was read as Latin-1", Buffer.from(pem, "utf16le").toString("latin1")],
  ["a PEM whose label is broken", pem.replace("PRIVATE KEY", "PRIVATE KE\nY")],
  ["JWK without its type", JSON.stringify({ ...JSON.parse(jwk), kty: undefined })],
  ["a line of an env file", `SIGNING_KEY=${base64(pem)}`],
];
