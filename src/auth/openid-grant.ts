import { allowInsecureRequests, Configuration, customFetch, genericGrantRequest } from "openid-client";
import type { Grant } from "./grant-failure.js";

/** One token request, as openid-client is to make it. */
export interface GrantRequest {
  /** Of the token endpoint. */
  readonly origin: string;
  readonly url: string;
  readonly grant: Grant;
  /** Every field of the form but `grant_type`, the client's own included. */
  readonly form: Readonly<Record<string, string>>;
  /** Sends the encoded form. */
  readonly send: (body: string) => Promise<Response>;
}

export interface GrantResponse {
  readonly accessToken: string;
  /** In lower case. */
  readonly tokenType: string;
  readonly refreshToken: string | undefined;
  /** In seconds. */
  readonly expiresIn: number | undefined;
}

/**
 * Makes a token request through openid-client. This file is loaded with the first of them, and is the only one that knows
 * the library.
 *
 * @throws whatever the library throws. Its errors carry tokens and passwords: they may not get out.
 */
export async function requestGrant({ origin, url, grant, form, send }: GrantRequest): Promise<GrantResponse> {
  // Nothing is looked for at the issuer, and nothing is compared with it: the token endpoint is all that is used.
  const server = { issuer: origin, token_endpoint: url };
  // The form carries the client's name and secret already.
  const clientAuthentication = (): void => {};
  const config = new Configuration(server, form.client_id ?? "", undefined, clientAuthentication);
  // Timeouts are the wire's business. Zero turns the one of openid-client off.
  config.timeout = 0;
  config[customFetch] = (_url, { body }) => send(String(body));
  if (url.startsWith("http:")) allowInsecureRequests(config);
  // With grant_type among the parameters the form keeps the description's order.
  const response = await genericGrantRequest(config, grant, { grant_type: grant, ...form });
  return {
    accessToken: response.access_token,
    tokenType: response.token_type,
    refreshToken: response.refresh_token,
    expiresIn: response.expires_in,
  };
}
