import { allowInsecureRequests, Configuration, customFetch, genericGrantRequest } from "openid-client";
import type { BaseUrl } from "../wire/base-url.js";
import type { Grant } from "./grant-failure.js";
import type { TokenFields } from "./token-response.js";

/** One token request, as openid-client is to make it. */
export interface GrantRequest {
  /** The address of the token endpoint. */
  readonly endpoint: BaseUrl;
  readonly grant: Grant;
  readonly clientId: string;
  /** Every field of the form but `grant_type`, the client's own included where they belong into it. */
  readonly form: Readonly<Record<string, string>>;
  /** Sends the encoded form and reads the response. */
  readonly send: (body: string) => Promise<TokenFields>;
}

/**
 * Makes a token request through openid-client. This file is loaded with the first of them, and is the only one that knows
 * the library.
 *
 * @throws an error of openid-client. What `send` throws is its `cause`. Such errors carry tokens and passwords and must not
 *   get out.
 */
export function requestGrant({ endpoint, grant, clientId, form, send }: GrantRequest): Promise<TokenFields> {
  // Nothing is requested from the issuer, and nothing is compared with it: only the token endpoint is used.
  const server = { issuer: endpoint.origin, token_endpoint: endpoint.origin + endpoint.path };
  // The form or a header has the client's id and secret already.
  const clientAuthentication = (): void => {};
  const config = new Configuration(server, clientId, undefined, clientAuthentication);
  // The deadline of the request is the only time limit. Zero turns off openid-client's own.
  config.timeout = 0;
  config[customFetch] = async (_url, { body }) => toResponse(await send(String(body)));
  if (endpoint.origin.startsWith("http:")) allowInsecureRequests(config);
  // With grant_type among the parameters the fields keep the order of the description.
  return genericGrantRequest(config, grant, { grant_type: grant, ...form });
}

/**
 * A response whose body has been parsed already. It has only the fields that are used: openid-client would check an
 * `id_token` against an issuer that the client does not know.
 */
function toResponse(fields: TokenFields): Response {
  return Object.assign(new Response(), { json: () => Promise.resolve(fields) });
}
