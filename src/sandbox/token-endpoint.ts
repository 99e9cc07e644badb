import { randomBytes } from "node:crypto";
import { jsonResponse } from "./responses.js";
import type { SandboxSettings } from "./sandbox-options.js";

/** One request for a token, told without any secret. */
export interface TokenRequest {
  /** `password`, `refresh_token`, or whatever else the form said; empty when it said nothing. */
  readonly grantType: string;
  readonly atMs: number;
  /** Names of the form's fields, in order. */
  readonly fields: readonly string[];
}

export interface TokenForm {
  readonly method: string;
  readonly contentType: string | null;
  readonly authorization: string | null;
  readonly body: string;
  /** Where the request came from; empty if unknown. */
  readonly address: string;
}

/** The identity provider: gives tokens and knows which of them are good (Interface description 0.0.1, "Authentication"). */
export class TokenEndpoint {
  readonly path: string;
  /** Where a session is ended. It is not described, but every Keycloak has it. */
  readonly logoutPath: string;
  readonly #settings: SandboxSettings;
  readonly #accessTokens = new Map<string, number>();
  readonly #refreshTokens = new Map<string, number>();
  readonly #requestTimes = new Map<string, number[]>();

  constructor(settings: SandboxSettings) {
    this.#settings = settings;
    const realm = encodeURIComponent(settings.credentials.realm);
    const base = `${settings.authPath}/auth/realms/${realm}/protocol/openid-connect`;
    this.path = `${base}/token`;
    this.logoutPath = `${base}/logout`;
  }

  /** Whether an `Authorization` header carries an access token that lives. */
  accepts(authorization: string | null): boolean {
    const [, token = ""] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    return this.#lives(this.#accessTokens, token);
  }

  /** Ends every access token; `all` ends the refresh tokens too. */
  revoke(which: "access" | "all"): void {
    this.#accessTokens.clear();
    if (which === "all") this.#refreshTokens.clear();
  }

  respond(form: TokenForm): Response {
    return this.#withFields(form, (fields) => this.#grant(fields));
  }

  /** Ends the session of a refresh token. Access tokens live on, as Keycloak's do where nobody asks it about them. */
  endSession(form: TokenForm): Response {
    return this.#withFields(form, (fields) => {
      const refused = this.#refuseClient(fields, fields.get("client_secret") ?? "");
      if (refused !== undefined) return refused;
      if (!this.#refreshTokens.delete(fields.get("refresh_token") ?? "")) return deadToken();
      return new Response(null, { status: 204 });
    });
  }

  #withFields(form: TokenForm, respond: (fields: URLSearchParams) => Response): Response {
    if (form.method !== "POST") return jsonResponse({ error: "method_not_allowed" }, 405, { allow: "POST" });
    const waitMs = this.#throttledForMs(form.address);
    if (waitMs > 0) {
      const headers = { "retry-after": String(Math.ceil(waitMs / 1000)) };
      return oauthError("too_many_requests", "Too many token requests", 429, headers);
    }
    if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(form.contentType ?? "")) {
      return oauthError("invalid_request", "The body must be application/x-www-form-urlencoded", 400);
    }
    const fields = new URLSearchParams(form.body);
    const repeated = [...fields.keys()].find((name) => fields.getAll(name).length > 1);
    if (repeated !== undefined) return oauthError("invalid_request", `Duplicated parameter: ${repeated}`, 400);
    for (const [name, value] of basicCredentials(form.authorization)) fields.set(name, value);
    return respond(fields);
  }

  #grant(fields: URLSearchParams): Response {
    const grantType = fields.get("grant_type");
    if (grantType === null) return oauthError("invalid_request", "Missing form parameter: grant_type", 400);
    // The description's refresh form has no client_secret; one that comes all the same has to be right.
    const byDefault = grantType === "refresh_token" ? this.#settings.credentials.clientSecret : "";
    const refused = this.#refuseClient(fields, fields.get("client_secret") ?? byDefault);
    if (refused !== undefined) return refused;
    if (grantType === "password") return this.#login(fields);
    if (grantType === "refresh_token") return this.#refresh(fields.get("refresh_token") ?? "");
    return oauthError("unsupported_grant_type", "Unsupported grant_type", 400);
  }

  #refuseClient(fields: URLSearchParams, secret: string): Response | undefined {
    const { clientId, clientSecret } = this.#settings.credentials;
    if (fields.get("client_id") !== clientId) return oauthError("invalid_client", "Invalid client credentials", 401);
    return secret === clientSecret ? undefined : oauthError("unauthorized_client", "Invalid client credentials", 401);
  }

  #login(fields: URLSearchParams): Response {
    const { username, password } = this.#settings.credentials;
    if (fields.get("username") !== username || fields.get("password") !== password) {
      return oauthError("invalid_grant", "Invalid user credentials", 401);
    }
    return tokenResponse({
      access_token: this.#newAccessToken(),
      refresh_token: this.#newRefreshToken(),
      id_token: foreignIdToken(),
      token_type: "Bearer",
      expires_in: this.#settings.tokenLifetimeMs / 1000,
    });
  }

  #refresh(refreshToken: string): Response {
    if (!this.#lives(this.#refreshTokens, refreshToken)) return deadToken();
    const response = {
      access_token: this.#newAccessToken(),
      expires_in: this.#settings.tokenLifetimeMs / 1000,
      scope: "openid email profile",
      token_type: "Bearer",
    };
    if (!this.#settings.rotateRefreshTokens) return tokenResponse(response);
    this.#refreshTokens.delete(refreshToken);
    return tokenResponse({ ...response, refresh_token: this.#newRefreshToken() });
  }

  #newAccessToken(): string {
    return this.#keep(this.#accessTokens, this.#settings.tokenLifetimeMs);
  }

  #newRefreshToken(): string {
    return this.#keep(this.#refreshTokens, this.#settings.refreshTokenLifetimeMs);
  }

  #keep(tokens: Map<string, number>, lifetimeMs: number): string {
    for (const token of tokens.keys()) if (!this.#lives(tokens, token)) tokens.delete(token);
    const token = randomBytes(32).toString("base64url");
    tokens.set(token, this.#settings.now() + lifetimeMs);
    return token;
  }

  #lives(tokens: ReadonlyMap<string, number>, token: string): boolean {
    return this.#settings.now() < (tokens.get(token) ?? -Infinity);
  }

  /** How long the address has to wait; 0 lets the request through and counts it. */
  #throttledForMs(address: string): number {
    const { tokenThrottle, now } = this.#settings;
    if (tokenThrottle === undefined) return 0;
    const { max, windowMs } = tokenThrottle;
    const nowMs = now();
    const recent = (this.#requestTimes.get(address) ?? []).filter((atMs) => atMs > nowMs - windowMs);
    const throttled = recent.length >= max;
    if (!throttled) recent.push(nowMs);
    this.#requestTimes.set(address, recent);
    return throttled ? (recent[0] ?? nowMs) + windowMs - nowMs : 0;
  }
}

function tokenResponse(body: Readonly<Record<string, string | number>>): Response {
  return jsonResponse(body, 200, { "cache-control": "no-store", pragma: "no-cache" });
}

function deadToken(): Response {
  return oauthError("invalid_grant", "Token is not active", 400);
}

/** The client's id and secret in a header (RFC 6749, 2.3.1), as fields of the form. */
function basicCredentials(authorization: string | null): [name: string, value: string][] {
  const [, encoded] = /^Basic +([\w+/=-]+)$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return [];
  const pair = Buffer.from(encoded, "base64").toString().split(":");
  // The parts are encoded like values of a form.
  const [clientId = "", clientSecret = ""] = pair.map((part) => new URLSearchParams(`part=${part}`).get("part") ?? "");
  return [
    ["client_id", clientId],
    ["client_secret", clientSecret],
  ];
}

function oauthError(error: string, description: string, status: number, headers?: Readonly<Record<string, string>>) {
  return jsonResponse({ error, error_description: description }, status, headers);
}

/** Looks like an ID token, but another issuer made it and its signature is none: clients have no business with it. */
function foreignIdToken(): string {
  const parts = [
    { alg: "RS256", typ: "JWT" },
    { iss: "https://identity.invalid", sub: "someone", aud: "someone-else" },
  ];
  const encoded = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return [...encoded, randomBytes(32).toString("base64url")].join(".");
}
