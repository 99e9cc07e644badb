import { createHash, randomBytes } from "node:crypto";
import { dropExpired } from "./drop-expired.js";
import { loginPage, refusalPage } from "./pages.js";
import type { SandboxSettings } from "./sandbox-options.js";

export interface Login {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string | null;
  readonly scope: string;
  readonly untilMs: number;
}

/**
 * The login page, and the codes that it hands out (RFC 6749, 4.1). It keeps no cookie: each login takes a press of the button.
 */
export class AuthorizationEndpoint {
  readonly #settings: SandboxSettings;
  readonly #logins = new Map<string, Login>();

  constructor(settings: SandboxSettings) {
    this.#settings = settings;
  }

  /** `GET` shows the page; the `POST` of its button leads back to the application with a code. */
  respond(method: string, query: string, issuer: string): Response {
    const { clientId, username } = this.#settings.credentials;
    const asked = new URLSearchParams(query);
    if (asked.get("client_id") !== clientId) return refusalPage("Client not found.");
    const redirectUri = asked.get("redirect_uri") ?? "";
    if (!isRedirectUri(redirectUri)) return refusalPage("Invalid parameter: redirect_uri");
    const lead = (outcome: Readonly<Record<string, string>>) =>
      backTo(redirectUri, asked.get("state"), issuer, outcome);
    const problem = problemOf(asked);
    if (problem !== undefined) return redirect(lead(problem));
    if (method !== "POST") return loginPage(username, clientId, lead({ error: "access_denied" }));
    const nowMs = this.#settings.now();
    dropExpired(this.#logins, nowMs);
    const code = randomBytes(32).toString("base64url");
    this.#logins.set(code, {
      redirectUri,
      challenge: asked.get("code_challenge") ?? "",
      nonce: asked.get("nonce"),
      scope: asked.get("scope") ?? "",
      untilMs: nowMs + codeLifetimeMs,
    });
    return redirect(lead({ code }));
  }

  /** Gives the login of a code, once; or says why there is none. */
  redeem(code: string, redirectUri: string, verifier: string): Login | string {
    const login = this.#logins.get(code);
    this.#logins.delete(code);
    if (login === undefined || this.#settings.now() >= login.untilMs) return "Code not valid";
    if (login.redirectUri !== redirectUri) return "Incorrect redirect_uri";
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    return challenge === login.challenge ? login : "PKCE verification failed: Code mismatch";
  }
}

const codeLifetimeMs = 60_000;

export function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location, "cache-control": "no-store" } });
}

export function isRedirectUri(uri: string): boolean {
  return /^https?:\/\/[^#]+$/.test(uri) && URL.canParse(uri);
}

/** What the application hears of a request that the page is not shown for. */
function problemOf(asked: URLSearchParams): Readonly<Record<string, string>> | undefined {
  const repeated = [...asked.keys()].find((name) => asked.getAll(name).length > 1);
  if (repeated !== undefined) return { error: "invalid_request", error_description: "duplicated parameter" };
  if (asked.get("response_type") !== "code") return { error: "unsupported_response_type" };
  const hasChallenge = /^[\w-]{43}$/.test(asked.get("code_challenge") ?? "");
  if (!hasChallenge || asked.get("code_challenge_method") !== "S256") {
    return { error: "invalid_request", error_description: "Missing parameter: code_challenge_method" };
  }
  return asked.get("prompt") === "none" ? { error: "login_required" } : undefined;
}

/** RFC 9207 adds `iss`, as Keycloak does. */
function backTo(
  redirectUri: string,
  state: string | null,
  issuer: string,
  outcome: Readonly<Record<string, string>>,
): string {
  const address = new URL(redirectUri);
  const answer = { ...(state === null ? undefined : { state }), iss: issuer, ...outcome };
  for (const [name, value] of Object.entries(answer)) address.searchParams.set(name, value);
  return address.href;
}
