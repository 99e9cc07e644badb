import { Deadline } from "../timing/deadline.js";
import { now, type Timestamp } from "../timing/timestamp.js";
import type { BaseUrl } from "../wire/base-url.js";
import type { Transport, WireRequest, WireResponse } from "../wire/transport.js";
import { type PasswordAuth, tokenEndpointAddress } from "./auth-options.js";
import { failureOfGrant, failureOfWire, type Grant, GrantError, type GrantFailure } from "./grant-failure.js";
import { readTokenResponse, type TokenFields } from "./token-response.js";

/** A token that the endpoint issued. */
export interface Granted {
  readonly accessToken: string;
  /** Absent where the response has none. */
  readonly refreshToken: string | undefined;
  /** Absent where the response gives none. */
  readonly lifetimeMs: number | undefined;
  /** A time before the request was sent. */
  readonly sentAt: Timestamp;
}

export type GrantResult = { readonly granted: Granted } | { readonly failure: GrantFailure };

/**
 * The token endpoint (description: "Authentication", 2 to 4), through openid-client. A request never rejects: whatever goes
 * wrong becomes a `GrantFailure`, since the errors of openid-client carry tokens and passwords.
 */
export class TokenEndpoint {
  readonly #address: BaseUrl;
  readonly #auth: PasswordAuth;
  readonly #transport: Transport;
  readonly #timeoutMs: number;

  /** @param timeoutMs for each request. */
  constructor(auth: PasswordAuth, transport: Transport, timeoutMs: number) {
    this.#address = tokenEndpointAddress(auth);
    this.#auth = { ...auth };
    this.#transport = transport;
    this.#timeoutMs = timeoutMs;
  }

  /** Scheme, host and port. */
  get origin(): string {
    return this.#address.origin;
  }

  /** Starts to load what a request needs. */
  preload(): void {
    loadGrant().catch(() => {});
  }

  /** @param knownTokens tokens that the response might repeat and no message may show. */
  login(knownTokens: readonly string[]): Promise<GrantResult> {
    const { clientId, clientSecret = "", username, password } = this.#auth;
    // The description sends client_secret even if it is empty; openid-client's own client authentication would leave it out.
    const form = { username, password, client_id: clientId, client_secret: clientSecret };
    return this.#request("password", form, knownTokens);
  }

  /** @param knownTokens tokens that the response might repeat and no message may show. */
  refresh(refreshToken: string, knownTokens: readonly string[]): Promise<GrantResult> {
    const { clientId, clientSecret = "" } = this.#auth;
    const form = { client_id: clientId, refresh_token: refreshToken };
    const withSecret = clientSecret === "" ? form : { ...form, client_secret: clientSecret };
    return this.#request("refresh_token", withSecret, knownTokens);
  }

  async #request(grant: Grant, form: Record<string, string>, knownTokens: readonly string[]): Promise<GrantResult> {
    const { username, password, clientSecret = "" } = this.#auth;
    const send = (body: string) => this.#send(body, [username, password, clientSecret, ...knownTokens]);
    try {
      const { requestGrant } = await loadGrant();
      // The server's own count of the lifetime can only start later.
      const sentAt = now();
      const fields = await requestGrant({ endpoint: this.#address, grant, form, send });
      return { granted: toGranted(fields, sentAt) };
    } catch (error) {
      return { failure: failureOfGrant(error) };
    }
  }

  /** @throws {GrantError} */
  async #send(body: string, secrets: readonly string[]): Promise<TokenFields> {
    const result = readTokenResponse(await this.#post(body), secrets);
    if ("failure" in result) throw new GrantError(result.failure);
    return result.fields;
  }

  async #post(body: string): Promise<WireResponse> {
    const request: WireRequest = {
      ...this.#address,
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
        "accept-encoding": "identity",
      },
      body: new TextEncoder().encode(body),
      maxResponseBytes,
    };
    const deadline = new Deadline({ timeoutMs: this.#timeoutMs });
    try {
      return await this.#transport.send(request, deadline);
    } catch (error) {
      throw new GrantError(failureOfWire(error));
    } finally {
      deadline.finish();
    }
  }
}

const maxResponseBytes = 2 ** 20;

function loadGrant() {
  return import("#login");
}

function toGranted({ access_token, refresh_token, expires_in }: TokenFields, sentAt: Timestamp): Granted {
  return {
    accessToken: access_token,
    refreshToken: refresh_token,
    lifetimeMs: expires_in === undefined ? undefined : expires_in * 1000,
    sentAt,
  };
}
