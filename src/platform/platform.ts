import type { TlsMaterial, TlsOptions } from "./tls-material.js";
import type { AgentOptions, UndiciAgent } from "./undici-agent.js";

/** A private RSA key that makes PKCS#1 v1.5 signatures with SHA-256. */
export interface PrivateKey {
  sign(text: Uint8Array): Promise<Uint8Array>;
  /** The public half: SubjectPublicKeyInfo in DER. */
  spki(): Uint8Array;
}

/** A public RSA key that verifies PKCS#1 v1.5 signatures with SHA-256. */
export interface PublicKey {
  verify(text: Uint8Array, signature: Uint8Array): Promise<boolean>;
  /** SubjectPublicKeyInfo in DER. Two keys are the same if these bytes are. */
  spki(): Uint8Array;
}

export interface KeyPairDer {
  readonly pkcs8: Uint8Array;
  readonly spki: Uint8Array;
}

/** A diagnostics channel of the process. */
export interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

/**
 * The differences between Node, the web, and Workers. `node.ts`, `web.ts` and `workerd.ts` export exactly this, and everything else
 * imports it from `#platform`.
 */
export interface Platform {
  isKeyObject(value: unknown): value is KeyObjectLike;
  /**
   * Reads a private key of any type from one block of PEM.
   *
   * @throws an error of the platform's if it can't be read, or `passphrase` doesn't open it.
   */
  parsePrivatePem(pem: string, passphrase?: string): KeyObjectLike;
  /**
   * Reads a public key of any type from one block of PEM.
   *
   * @throws an error of the platform's if it can't be read.
   */
  parsePublicPem(pem: string): KeyObjectLike;
  /** Whether `parsePrivatePem` opens encrypted keys. Only Node does. */
  readonly opensEncryptedKeys: boolean;
  /** The key is a private RSA key. */
  importPrivateKey(key: KeyObjectLike): PrivateKey;
  /** The key is a public RSA key. */
  importPublicKey(key: KeyObjectLike): PublicKey;
  sha256(bytes: Uint8Array): Promise<Uint8Array>;
  /** Opens the sockets of a client. The web has none, since `fetch` sends requests. */
  readonly openAgent: ((options: AgentOptions) => Promise<UndiciAgent>) | undefined;
  /**
   * Browsers automatically resend a request if a reused connection breaks, even a payment. And the service's CORS rules would have to
   * allow a `User-Agent` of the client's.
   */
  readonly isBrowser: boolean;
  /** Reads the certificates and keys for those sockets. */
  readonly readTlsMaterial: ((given: TlsOptions) => TlsMaterial) | undefined;
  /**
   * Decodes a whole body in gzip or Brotli (`br`), or says why it can't. The body ends too early, isn't what its coding says, or becomes larger
   * than `maxBytes`. On the web there is none, since `fetch` decodes bodies.
   */
  readonly decompress:
    | ((body: Uint8Array, coding: string, maxBytes: number) => Promise<Uint8Array | DecompressionProblem>)
    | undefined;
  /**
   * Lets work continue that a request to a runtime has begun, after that request has been responded to. Only Workers end such work
   * silently, so that its callers wait for ever. Never throws.
   */
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined;
  /** A channel for the diagnostics of the process. On the web there are none. */
  readonly openChannel: ((name: string) => Channel) | undefined;
  /** Whether code may be made from text. Workers, and pages with a content security policy, forbid it. */
  readonly mayCompile: boolean;
  generateKeyPair(bits: number): Promise<KeyPairDer>;
}

export type DecompressionProblem = "cut-short" | "encoded" | "too-large";

/** A `KeyObject` of `node:crypto`, as far as this package needs it. */
export interface KeyObjectLike {
  readonly type: "private" | "public" | "secret";
  readonly asymmetricKeyType?: string | undefined;
  readonly asymmetricKeyDetails?: { readonly modulusLength?: number | undefined } | undefined;
  export(options: { readonly format: "der"; readonly type: "pkcs8" | "spki" }): Uint8Array;
}
