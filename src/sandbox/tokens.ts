import { randomBytes } from "node:crypto";
import type { SandboxSettings } from "./options.js";
import { jsonResponse, rememberAs, SandboxRefusal } from "./refusal.js";

/** One request for a token, without secrets. */
export interface TokenRequest {
  /** `password`, `authorization_code`, `refresh_token`, or another value of the form. */
  readonly grantType: string;
  readonly atMs: number;
  /** Names of the form's fields, in order. */
  readonly fields: readonly string[];
}

interface IssuedToken {
  readonly kind: "access" | "refresh";
  /** Revoked tokens are forgotten. */
  readonly untilMs: number;
  readonly session: string;
}

/** Issues tokens and knows which are valid (Interface description 0.0.1, "Authentication"). */
export class Tokens {
  readonly #settings: SandboxSettings;
  readonly #issued = new Map<string, IssuedToken>();

  constructor(settings: SandboxSettings) {
    this.#settings = settings;
  }

  /** Whether an `Authorization` header has a valid access token. */
  accepts(authorization: string | null): boolean {
    const [, token = ""] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    return this.#sessionOf("access", token) !== undefined;
  }

  revoke(which: "access" | "all"): void {
    this.#end(({ kind }) => which === "all" || kind === "access");
  }

  /** Ends the refresh tokens of a session. Its access tokens live on, as Keycloak's do. */
  endSession(session: unknown): void {
    this.#end((token) => token.kind === "refresh" && token.session === session);
  }

  /** Ends the session of a refresh token. @throws {SandboxRefusal} */
  logOut(fields: URLSearchParams): Response {
    this.assertClient(fields);
    this.endSession(this.#continued(fields.get("refresh_token")));
    return new Response(null, { status: 204 });
  }

  /** @throws {SandboxRefusal} */
  grant(fields: URLSearchParams): Response {
    const { username, password } = this.#settings.credentials;
    const grantType = fields.get("grant_type");
    if (grantType === "refresh_token") return this.#refresh(fields);
    if (grantType === null) throw new SandboxRefusal("invalid_request", "Missing form parameter: grant_type");
    this.assertClient(fields);
    if (grantType !== "password") throw new SandboxRefusal("unsupported_grant_type", "Unsupported grant_type");
    if (fields.get("username") !== username || fields.get("password") !== password) {
      throw new SandboxRefusal("invalid_grant", "Invalid user credentials", 401);
    }
    return this.logIn(crypto.randomUUID(), { id_token: foreignIdToken });
  }

  /** @throws {SandboxRefusal} */
  assertClient(fields: URLSearchParams, secret = fields.get("client_secret") ?? ""): void {
    const { clientId, clientSecret } = this.#settings.credentials;
    if (fields.get("client_id") !== clientId) {
      throw new SandboxRefusal("invalid_client", "Invalid client credentials", 401);
    }
    if (secret !== clientSecret) throw new SandboxRefusal("unauthorized_client", "Invalid client credentials", 401);
  }

  logIn(session: string, more: object): Response {
    const access_token = this.#issue("access", session);
    return this.#tokenResponse({ access_token, refresh_token: this.#issue("refresh", session), ...more });
  }

  #refresh(fields: URLSearchParams): Response {
    // The description's refresh form has no client_secret.
    this.assertClient(fields, fields.get("client_secret") ?? this.#settings.credentials.clientSecret);
    const refreshToken = fields.get("refresh_token") ?? "";
    const session = this.#continued(refreshToken);
    const response = { access_token: this.#issue("access", session), scope: "openid email profile" };
    if (!this.#settings.rotateRefreshTokens) return this.#tokenResponse(response);
    this.#issued.delete(refreshToken);
    return this.#tokenResponse({ ...response, refresh_token: this.#issue("refresh", session) });
  }

  #tokenResponse(body: object): Response {
    const more = { token_type: "Bearer", expires_in: this.#settings.tokenLifetimeSeconds };
    return jsonResponse({ ...body, ...more }, 200, { "cache-control": "no-store", pragma: "no-cache" });
  }

  #issue(kind: IssuedToken["kind"], session: string): string {
    const { now, tokenLifetimeSeconds, refreshTokenLifetimeSeconds } = this.#settings;
    const lifetimeSeconds = kind === "access" ? tokenLifetimeSeconds : refreshTokenLifetimeSeconds;
    const token = randomBytes(32).toString("base64url");
    rememberAs(this.#issued, token, { kind, session, untilMs: now() + 1000 * lifetimeSeconds });
    return token;
  }

  #end(isMeant: (token: IssuedToken) => boolean): void {
    for (const [token, issued] of this.#issued) if (isMeant(issued)) this.#issued.delete(token);
  }

  #sessionOf(kind: IssuedToken["kind"], token: string): string | undefined {
    const issued = this.#issued.get(token);
    return issued?.kind === kind && this.#settings.now() < issued.untilMs ? issued.session : undefined;
  }

  /** @throws {SandboxRefusal} */
  #continued(refreshToken: string | null): string {
    const session = this.#sessionOf("refresh", refreshToken ?? "");
    if (session === undefined) throw new SandboxRefusal("invalid_grant", "Token is not active");
    return session;
  }
}

/** Another issuer's ID token with a wrong signature: a client must not use it. */
const foreignIdToken =
  "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2lkZW50aXR5LmludmFsaWQiLCJzdWIiOiJzb21lb25lIiwiYXVkIjoic29tZW9uZS1lbHNlIn0.c2lnbmF0dXJl";
