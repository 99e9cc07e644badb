import { TokenError } from "../errors/errors.js";
import { notLoaded } from "../errors/not-loaded.js";
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
    throw new TokenError(notLoaded("what requests tokens", "nothing was requested"), {
      code: "token_request_failed",
      cause: safeCause(error),
    });
  }
}
