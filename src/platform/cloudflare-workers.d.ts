/** The part of the runtime's own module that is used. */
declare module "cloudflare:workers" {
  /** Keeps the request that is being handled open until `promise` has settled, for up to 30 s after its response. */
  export function waitUntil(promise: Promise<unknown>): void;
}
