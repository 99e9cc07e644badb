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
  /** SubjectPublicKeyInfo in DER: two keys are the same when these bytes are. */
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
 * What differs between Node, the web, and Workers. `node.ts`, `web.ts` and `workerd.ts` export exactly this, and everything else
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
  /** The bytes of a text in UTF-8: a view, whose `buffer` may hold others too. */
  encodeUtf8(text: string): Uint8Array;
  /** Base64 of the bytes: padded, on one line. */
  encodeBase64(bytes: Uint8Array): string;
  sha256(bytes: Uint8Array): Promise<Uint8Array>;
  /** Opens the sockets of a client. On the web there is none: requests are sent by `fetch`. */
  readonly openAgent: ((options: AgentOptions) => Promise<UndiciAgent>) | undefined;
  /** Whether `fetch` automatically resends a request if a reused connection breaks, even a payment. */
  readonly mayResendPosts: boolean;
  /** Whether requests name this package as their `User-Agent`. A page's would need the leave of the service's CORS rules. */
  readonly sendsUserAgent: boolean;
  /** Reads the certificates and keys for those sockets. */
  readonly readTlsMaterial: ((given: TlsOptions) => TlsMaterial) | undefined;
  /** Decodes the responses that those sockets bring. On the web there is none: `fetch` decodes them. */
  readonly decompression: Decompression | undefined;
  /**
   * Lets work continue that a request to a runtime has begun, after that request has been responded to. Only Workers end such work
   * silently: what waits for its result waits for ever. Never throws.
   */
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined;
  /** A channel for the diagnostics of the process. On the web there are none. */
  readonly openChannel: ((name: string) => Channel) | undefined;
  /** Whether code may be made from text. Workers, and pages with a content security policy, forbid it. */
  readonly mayCompile: boolean;
  generateKeyPair(bits: number): Promise<KeyPairDer>;
}

/** How a platform takes bodies out of their content coding. */
export interface Decompression {
  /** The value of `accept-encoding` that asks for the codings it knows. */
  readonly accepted: string;
  /** Decodes a whole body, or says why it can't. */
  decode(body: Uint8Array, coding: string, maxBytes: number): Promise<Uint8Array | DecompressionProblem>;
}

/** The body ends too early, isn't what its coding says, or comes to more than it may. */
export type DecompressionProblem = "cut-short" | "encoded" | "too-large";

/** A `KeyObject` of `node:crypto`, as far as this package needs it. */
export interface KeyObjectLike {
  readonly type: "private" | "public" | "secret";
  readonly asymmetricKeyType?: string | undefined;
  readonly asymmetricKeyDetails?: { readonly modulusLength?: number | undefined } | undefined;
  export(options: { readonly format: "der"; readonly type: "pkcs8" | "spki" }): Uint8Array;
}
