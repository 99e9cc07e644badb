import { createPublicKey, createSign, createVerify, generateKeyPair, type KeyObject, randomUUID } from "node:crypto";
import { promisify } from "node:util";

/** Signs ID tokens with a key that is made for this sandbox, when the first one is wanted. */
export class IdTokens {
  readonly #keyId = randomUUID();
  #key: Promise<KeyObject> | undefined;

  async issue(claims: Readonly<Record<string, unknown>>): Promise<string> {
    const signed = [{ alg: "RS256", typ: "JWT", kid: this.#keyId }, claims].map(encode).join(".");
    return `${signed}.${createSign("sha256")
      .update(signed)
      .sign(await this.#privateKey(), "base64url")}`;
  }

  /** The claims of a token that was issued here, expired or not. */
  async read(token: string): Promise<Record<string, unknown> | undefined> {
    const [header = "", claims = "", signature = ""] = token.split(".");
    const key = await this.#privateKey();
    const isOwn = createVerify("sha256")
      .update(`${header}.${claims}`)
      .verify(createPublicKey(key), signature, "base64url");
    return isOwn ? (JSON.parse(Buffer.from(claims, "base64url").toString()) as Record<string, unknown>) : undefined;
  }

  /** The public key, as `…/certs` shows it (RFC 7517). */
  async keySet(): Promise<{ readonly keys: readonly object[] }> {
    const key = createPublicKey(await this.#privateKey()).export({ format: "jwk" });
    return { keys: [{ ...key, kid: this.#keyId, use: "sig", alg: "RS256" }] };
  }

  #privateKey(): Promise<KeyObject> {
    this.#key ??= promisify(generateKeyPair)("rsa", { modulusLength: 2048 }).then(({ privateKey }) => privateKey);
    return this.#key;
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
