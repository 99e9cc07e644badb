import { createHash, generateKeyPair, type KeyObject, randomBytes, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { html } from "hono/html";
import { sign, verify } from "hono/jwt";
import type { SandboxRequest, SandboxSettings } from "./options.js";
import { type Admit, jsonResponse, rememberAs, SandboxRefusal, throttle } from "./refusal.js";
import { Tokens } from "./tokens.js";

/** The last part of an address of the identity provider. Only `token` is described. Keycloak has the others. */
export type IdentityEndpoint = keyof typeof methods;

const methods = { token: ["POST"], auth: ["GET", "POST"], logout: ["GET", "POST"], certs: ["GET"] } as const;
const endpoints = Object.keys(methods) as readonly IdentityEndpoint[];

/** A request with its addresses. */
export interface IdentityRequest {
  readonly seen: SandboxRequest;
  /** The client's address, or empty. */
  readonly address: string;
  /** Scheme and host as which the sandbox is addressed. */
  readonly origin: string;
}

/** The identity provider: logs users in by password or by its page, and ends their sessions. */
export class IdentityProvider {
  readonly tokens: Tokens;
  readonly #settings: SandboxSettings;
  readonly #realmPath: string;
  readonly #admit: Admit;
  readonly #idTokens = new IdTokens();
  /** Of each code, the query of its login page. */
  readonly #codes = new Map<string, { readonly asked: URLSearchParams; readonly untilMs: number }>();

  constructor(settings: SandboxSettings) {
    const { authPath, credentials, tokenThrottle, now } = settings;
    this.#settings = settings;
    this.#realmPath = `${authPath}/auth/realms/${encodeURIComponent(credentials.realm)}`;
    this.#admit = throttle(tokenThrottle, now);
    this.tokens = new Tokens(settings);
  }

  pathOf(endpoint: IdentityEndpoint): string {
    return `${this.#realmPath}/protocol/openid-connect/${endpoint}`;
  }

  endpointOf(path: string): IdentityEndpoint | undefined {
    return endpoints.find((endpoint) => path === this.pathOf(endpoint));
  }

  async respond(endpoint: IdentityEndpoint, { seen, address, origin }: IdentityRequest): Promise<Response> {
    const { method, query } = seen;
    const allowed: readonly string[] = methods[endpoint];
    if (!allowed.includes(method)) {
      return jsonResponse({ error: "method_not_allowed" }, 405, { allow: allowed.join(", ") });
    }
    const issuer = origin + this.#realmPath;
    if (endpoint === "auth") return this.#authorize(method, new URLSearchParams(query), issuer);
    if (endpoint === "certs") return jsonResponse(await this.#idTokens.keySet());
    if (endpoint === "logout" && method === "GET") return this.#logOut(new URLSearchParams(query));
    try {
      this.#admit(address);
      const fields = fieldsOf(seen);
      if (endpoint === "logout") return this.tokens.logOut(fields);
      if (fields.get("grant_type") !== "authorization_code") return this.tokens.grant(fields);
      return await this.#redeem(fields, issuer);
    } catch (error) {
      if (!(error instanceof SandboxRefusal)) throw error;
      return jsonResponse({ error: error.code, error_description: error.message }, error.status, error.headers);
    }
  }

  /** The login page: `GET` shows it, and the `POST` of its button leads back with a code (RFC 6749, 4.1). */
  #authorize(method: string, asked: URLSearchParams, issuer: string): Response | Promise<Response> {
    const { clientId, username } = this.#settings.credentials;
    const redirectUri = asked.get("redirect_uri") ?? "";
    if (asked.get("client_id") !== clientId) return refusalPage("Client not found.");
    if (!isRedirectUri(redirectUri)) return refusalPage("Invalid parameter: redirect_uri");
    const back = (outcome: Readonly<Record<string, string>>) => {
      // RFC 9207 adds `iss`, as Keycloak does.
      const state = asked.get("state");
      return withQuery(redirectUri, { ...(state !== null && { state }), iss: issuer, ...outcome });
    };
    const problem = problemOf(asked);
    if (problem !== undefined) return redirect(back(problem));
    if (method !== "POST") {
      return page(
        "Sandbox login",
        html`<p>${clientId} wants to act for you.</p>
<form method="post"><button autofocus>Log in as ${username}</button></form>
<p><a href="${back({ error: "access_denied" })}">Refuse</a></p>`,
      );
    }
    const code = randomBytes(32).toString("base64url");
    const untilMs = this.#settings.now() + codeLifetimeMs;
    rememberAs(this.#codes, code, { asked, untilMs });
    return redirect(back({ code }));
  }

  async #redeem(fields: URLSearchParams, issuer: string): Promise<Response> {
    this.tokens.assertClient(fields);
    const given = fields.get("code") ?? "";
    const code = this.#codes.get(given);
    if (code === undefined || this.#settings.now() >= code.untilMs) throw invalidGrant("Code not valid");
    const { asked } = code;
    this.#codes.delete(given);
    if (asked.get("redirect_uri") !== fields.get("redirect_uri")) throw invalidGrant("Incorrect redirect_uri");
    const challenge = createHash("sha256")
      .update(fields.get("code_verifier") ?? "")
      .digest("base64url");
    if (challenge !== asked.get("code_challenge")) throw invalidGrant("PKCE verification failed: Code mismatch");
    const session = randomUUID();
    const scope = asked.get("scope") ?? "";
    if (!scope.split(" ").includes("openid")) return this.tokens.logIn(session, { scope });
    const { credentials, now, tokenLifetimeSeconds } = this.#settings;
    const iat = Math.floor(now() / 1000);
    const nonce = asked.get("nonce");
    const idToken = await this.#idTokens.issue({
      ...{ iss: issuer, aud: credentials.clientId, azp: credentials.clientId, sub: credentials.username },
      ...{ preferred_username: credentials.username, sid: session, iat, exp: iat + tokenLifetimeSeconds },
      ...(nonce !== null && { nonce }),
    });
    return this.tokens.logIn(session, { scope, id_token: idToken });
  }

  /** Ends a session as OpenID Connect RP-Initiated Logout 1.0 says. */
  async #logOut(asked: URLSearchParams): Promise<Response> {
    const claims = await this.#idTokens.read(asked.get("id_token_hint") ?? "");
    if (claims === undefined) return refusalPage("Missing or invalid parameter: id_token_hint");
    const address = asked.get("post_logout_redirect_uri");
    if (address !== null && !isRedirectUri(address)) return refusalPage("Invalid parameter: post_logout_redirect_uri");
    this.tokens.endSession(claims.sid);
    if (address === null) return page("Logged out", html`<p>The session has ended.</p>`);
    const state = asked.get("state");
    return redirect(withQuery(address, state === null ? {} : { state }));
  }
}

const codeLifetimeMs = 60_000;

/** @throws {SandboxRefusal} if it isn't a form. */
function fieldsOf({ headers, body }: SandboxRequest): URLSearchParams {
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers.get("content-type") ?? "")) {
    throw new SandboxRefusal("invalid_request", "The body must be application/x-www-form-urlencoded");
  }
  const fields = new URLSearchParams(body);
  // The client's id and secret can come in a header (RFC 6749, 2.3.1), encoded like values of a form.
  const [, basic] = /^Basic +([\w+/=-]+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  if (basic !== undefined) {
    const [id = "", secret = ""] = atob(basic).split(":");
    for (const [name, value] of new URLSearchParams(`client_id=${id}&client_secret=${secret}`)) fields.set(name, value);
  }
  return fields;
}

function invalidGrant(message: string): SandboxRefusal {
  return new SandboxRefusal("invalid_grant", message);
}

/** The error that the application gets instead of the login page. */
function problemOf(asked: URLSearchParams): Readonly<Record<string, string>> | undefined {
  if (asked.get("response_type") !== "code") return { error: "unsupported_response_type" };
  const hasChallenge = /^[\w-]{43}$/.test(asked.get("code_challenge") ?? "");
  if (!hasChallenge || asked.get("code_challenge_method") !== "S256") {
    return { error: "invalid_request", error_description: "Missing parameter: code_challenge_method" };
  }
  return asked.get("prompt") === "none" ? { error: "login_required" } : undefined;
}

function isRedirectUri(uri: string): boolean {
  return /^https?:\/\/[^#]+$/.test(uri) && URL.canParse(uri);
}

function withQuery(address: string, values: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  return url.href;
}

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location, "cache-control": "no-store" } });
}

/** The application isn't told, since its address is unknown or not acceptable. */
function refusalPage(why: string): Promise<Response> {
  return page("We are sorry", html`<p>${why}</p>`, 400);
}

async function page(title: string, content: ReturnType<typeof html>, status = 200): Promise<Response> {
  const text = await html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 24em; margin: 15vh auto; padding: 0 1em }</style>
<h1>${title}</h1>
${content}
</html>
`;
  return new Response(text, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    },
  });
}

/** Signs ID tokens with a key of this sandbox, which is made for the first one. */
class IdTokens {
  #keys: ReturnType<typeof newKeys> | undefined;

  async issue(claims: Record<string, unknown>): Promise<string> {
    return sign(claims, (await this.#made()).privateKey);
  }

  /** The claims of a token that was issued here, expired or not. */
  async read(token: string): Promise<Record<string, unknown> | undefined> {
    const { publicKey } = await this.#made();
    return verify(token, publicKey, { alg, exp: false, iat: false }).catch(() => undefined);
  }

  /** The public key, as `…/certs` shows it (RFC 7517). */
  async keySet(): Promise<{ readonly keys: readonly object[] }> {
    return { keys: [(await this.#made()).publicKey] };
  }

  #made() {
    this.#keys ??= newKeys();
    return this.#keys;
  }
}

const alg = "RS256";

async function newKeys() {
  const facts = { kid: randomUUID(), use: "sig", alg };
  const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  const shown = (key: KeyObject) => ({ ...key.export({ format: "jwk" }), ...facts });
  return { privateKey: shown(privateKey), publicKey: shown(publicKey) };
}
