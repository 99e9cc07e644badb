import { TokenError } from "../errors/errors.js";
import { safeCause } from "../errors/safe-cause.js";

/** openid-client, and what calls it. */
export function loadOpenIdGrant(): Promise<typeof import("#login")> {
  return import("#login");
}

/** @throws {TokenError} where a file of this package can't be loaded. */
export async function loaded<Module>(loading: Promise<Module>): Promise<Module> {
  try {
    return await loading;
  } catch (error) {
    throw new TokenError(
      "what requests tokens can't be loaded, so nothing was requested; is the package cross-border-payments installed completely, and are all files there that a bundler made of it?",
      { code: "token_request_failed", cause: safeCause(error) },
    );
  }
}
