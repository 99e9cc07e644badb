import { type ApiClient, apiClientOf } from "../api/api-client.js";
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
  const api = apiClientOf(client);
  if (api === undefined) throw new InvalidArgumentError(`${caller}: the client must be a CrossBorderClient`);
  return api;
}
