/** A `KeyObject` of `node:crypto`, as far as this package needs it. */
export interface KeyObjectLike {
  readonly type: "private" | "public" | "secret";
  readonly asymmetricKeyType?: string | undefined;
  readonly asymmetricKeyDetails?: { readonly modulusLength?: number | undefined } | undefined;
  export(options: { readonly format: "der"; readonly type: "pkcs8" | "spki" }): Uint8Array;
}
