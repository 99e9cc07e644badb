import { randomBytes, randomUUID } from "node:crypto";
import type { AuthorizationEndpoint, Login } from "./authorization-endpoint.js";
import { dropExpired } from "./drop-expired.js";
import type { IdTokens } from "./id-tokens.js";
import { jsonResponse } from "./responses.js";
import type { SandboxSettings } from "./sandbox-options.js";

/** One request for a token, told without any secret. */
export interface TokenRequest {
  /** `password`, `authorization_code`, `refresh_token`, or whatever else the form said; empty when it said nothing. */
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
  /** Whom the ID tokens name. */
  readonly issuer: string;
}

/** A token that was given to somebody, told without the token. */
export interface IssuedToken {
  /** The first token that a sandbox issues is its number 1. */
  readonly number: number;
  readonly kind: "access" | "refresh";
  readonly issuedAtMs: number;
  readonly untilMs: number;
  readonly session: string;
  /** Ended before its time: revoked, replaced by another one, or by the end of its session. */
  readonly isEnded: boolean;
}

type Issued = { -readonly [Name in keyof IssuedToken]: IssuedToken[Name] };

type Tokens = Map<string, Issued>;

/** So many of the issued tokens are remembered. */
const rememberedTokens = 100;

/** Gives tokens and knows which of them are good (Interface description 0.0.1, "Authentication"). */
export class SandboxTokens {
  readonly #settings: SandboxSettings;
  readonly #authorization: AuthorizationEndpoint;
  readonly #idTokens: IdTokens;
  readonly #accessTokens: Tokens = new Map();
  readonly #refreshTokens: Tokens = new Map();
  readonly #issued: Issued[] = [];
  /** The sessions of codes that were redeemed, until these would have expired. */
  readonly #redeemed = new Map<string, { readonly session: string; readonly untilMs: number }>();
  readonly #requestTimes = new Map<string, number[]>();

  constructor(settings: SandboxSettings, authorization: AuthorizationEndpoint, idTokens: IdTokens) {
    this.#settings = settings;
    this.#authorization = authorization;
    this.#idTokens = idTokens;
  }

  /** Whether an `Authorization` header carries an access token that lives. */
  accepts(authorization: string | null): boolean {
    const [, token = ""] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    return this.#lives(this.#accessTokens, token);
  }

  /** The newest tokens that were issued, oldest first. */
  get issued(): readonly IssuedToken[] {
    return this.#issued;
  }

  /** Ends every access token; `all` ends the refresh tokens too. */
  revoke(which: "access" | "all"): void {
    for (const token of this.#accessTokens.keys()) end(this.#accessTokens, token);
    if (which === "access") return;
    for (const token of this.#refreshTokens.keys()) end(this.#refreshTokens, token);
  }

  async respond(form: TokenForm): Promise<Response> {
    return this.#withFields(form, (fields) => this.#grant(fields, form.issuer));
  }

  /** Ends the session of a refresh token. Access tokens live on, as Keycloak's do where nobody asks it about them. */
  async logOut(form: TokenForm): Promise<Response> {
    return this.#withFields(form, (fields) => {
      const refused = this.#refuseClient(fields, fields.get("client_secret") ?? "");
      if (refused !== undefined) return refused;
      const issued = this.#refreshTokens.get(fields.get("refresh_token") ?? "");
      if (issued === undefined) return deadToken();
      this.endSession(issued.session);
      return new Response(null, { status: 204 });
    });
  }

  /** Ends a session, which nothing continues from now on. */
  endSession(session: unknown): void {
    for (const [token, issued] of this.#refreshTokens) if (issued.session === session) end(this.#refreshTokens, token);
  }

  async #withFields(
    form: TokenForm,
    respond: (fields: URLSearchParams) => Response | Promise<Response>,
  ): Promise<Response> {
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

  #grant(fields: URLSearchParams, issuer: string): Response | Promise<Response> {
    const grantType = fields.get("grant_type");
    if (grantType === null) return oauthError("invalid_request", "Missing form parameter: grant_type", 400);
    // The description's refresh form has no client_secret; one that comes all the same has to be right.
    const byDefault = grantType === "refresh_token" ? this.#settings.credentials.clientSecret : "";
    const refused = this.#refuseClient(fields, fields.get("client_secret") ?? byDefault);
    if (refused !== undefined) return refused;
    if (grantType === "password") return this.#login(fields);
    if (grantType === "authorization_code") return this.#redeem(fields, issuer);
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
    const session = randomUUID();
    return tokenResponse({
      access_token: this.#newAccessToken(session),
      refresh_token: this.#newRefreshToken(session),
      id_token: foreignIdToken(),
      token_type: "Bearer",
      expires_in: this.#settings.tokenLifetimeMs / 1000,
    });
  }

  async #redeem(fields: URLSearchParams, issuer: string): Promise<Response> {
    dropExpired(this.#redeemed, this.#settings.now());
    const code = fields.get("code") ?? "";
    const login = this.#authorization.redeem(code, fields.get("redirect_uri") ?? "", fields.get("code_verifier") ?? "");
    if (typeof login === "string") {
      // A code that comes a second time may be stolen.
      this.endSession(this.#redeemed.get(code)?.session);
      return oauthError("invalid_grant", login, 400);
    }
    const session = randomUUID();
    this.#redeemed.set(code, { session, untilMs: login.untilMs });
    const idToken = login.scope.split(" ").includes("openid") ? await this.#idToken(login, session, issuer) : undefined;
    return tokenResponse({
      access_token: this.#newAccessToken(session),
      refresh_token: this.#newRefreshToken(session),
      ...(idToken === undefined ? undefined : { id_token: idToken }),
      token_type: "Bearer",
      expires_in: this.#settings.tokenLifetimeMs / 1000,
      scope: login.scope,
    });
  }

  #idToken({ nonce }: Login, session: string, issuer: string): Promise<string> {
    const { credentials, now, tokenLifetimeMs } = this.#settings;
    const issuedAt = Math.floor(now() / 1000);
    return this.#idTokens.issue({
      iss: issuer,
      aud: credentials.clientId,
      azp: credentials.clientId,
      sub: credentials.username,
      preferred_username: credentials.username,
      sid: session,
      iat: issuedAt,
      exp: issuedAt + tokenLifetimeMs / 1000,
      ...(nonce === null ? undefined : { nonce }),
    });
  }

  #refresh(refreshToken: string): Response {
    const issued = this.#refreshTokens.get(refreshToken);
    if (issued === undefined || !this.#lives(this.#refreshTokens, refreshToken)) return deadToken();
    const { session } = issued;
    const response = {
      access_token: this.#newAccessToken(session),
      expires_in: this.#settings.tokenLifetimeMs / 1000,
      scope: "openid email profile",
      token_type: "Bearer",
    };
    if (!this.#settings.rotateRefreshTokens) return tokenResponse(response);
    if (this.#settings.quirks.spentRefreshTokens !== "taken") end(this.#refreshTokens, refreshToken);
    return tokenResponse({ ...response, refresh_token: this.#newRefreshToken(session) });
  }

  #newAccessToken(session: string): string {
    return this.#keep(this.#accessTokens, "access", this.#settings.tokenLifetimeMs, session);
  }

  #newRefreshToken(session: string): string {
    return this.#keep(this.#refreshTokens, "refresh", this.#settings.refreshTokenLifetimeMs, session);
  }

  #keep(tokens: Tokens, kind: IssuedToken["kind"], lifetimeMs: number, session: string): string {
    const issuedAtMs = this.#settings.now();
    dropExpired(tokens, issuedAtMs);
    const token = randomBytes(32).toString("base64url");
    const number = (this.#issued.at(-1)?.number ?? 0) + 1;
    const issued = { number, kind, issuedAtMs, untilMs: issuedAtMs + lifetimeMs, session, isEnded: false };
    tokens.set(token, issued);
    this.#issued.push(issued);
    if (this.#issued.length > rememberedTokens) this.#issued.shift();
    return token;
  }

  #lives(tokens: ReadonlyMap<string, Issued>, token: string): boolean {
    return this.#settings.now() < (tokens.get(token)?.untilMs ?? -Infinity);
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
    for (const [other, times] of this.#requestTimes)
      if ((times.at(-1) ?? 0) <= nowMs - windowMs) this.#requestTimes.delete(other);
    return throttled ? (recent[0] ?? nowMs) + windowMs - nowMs : 0;
  }
}

function end(tokens: Tokens, token: string): void {
  const issued = tokens.get(token);
  if (issued !== undefined) issued.isEnded = true;
  tokens.delete(token);
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
