import { type ApiClient, apiClientKey } from "../api/api-client.js";
import { InvalidArgumentError } from "../errors/errors.js";

/**
 * The client whose payments are read: a `CrossBorderClient`, whether it was imported or required.
 *
 * Not meant to be implemented: any other object is refused.
 */
export interface PaymentsClient {
  close(): Promise<void>;
}

/** @throws {InvalidArgumentError} when it is no client of this package. */
export function requireApiClient(caller: string, client: PaymentsClient): ApiClient {
  const api: unknown = Reflect.get(Object(client), apiClientKey);
  if (typeof api !== "object" || api === null) {
    throw new InvalidArgumentError(`${caller}: the client must be a CrossBorderClient`);
  }
  // Nothing but a client of this package, of whatever copy, has anything under this key.
  return api as ApiClient;
}
