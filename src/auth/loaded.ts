import { TokenError } from "../core/errors.js";
import { loadedLate } from "../core/lazy-load.js";

/** openid-client, and what calls it. */
export function loadOpenIdGrant(): Promise<typeof import("#login")> {
  return import("#login");
}

/** @throws {TokenError} where a file of this package can't be loaded. */
export function loaded<Module>(loading: Promise<Module>): Promise<Module> {
  return loadedLate(
    loading,
    "what requests tokens",
    "nothing was requested",
    (message, cause) => new TokenError(message, { code: "token_request_failed", cause }),
  );
}
