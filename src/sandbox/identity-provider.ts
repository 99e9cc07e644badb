import { AuthorizationEndpoint, isRedirectUri, redirect } from "./authorization-endpoint.js";
import { IdTokens } from "./id-tokens.js";
import { loggedOutPage, refusalPage } from "./pages.js";
import { jsonResponse } from "./responses.js";
import type { SandboxSettings } from "./sandbox-options.js";
import { SandboxTokens } from "./sandbox-tokens.js";

/** The last part of an address of the identity provider. Only `token` is described; Keycloak has the others. */
export type IdentityEndpoint = "token" | "auth" | "logout" | "certs";

export interface IdentityRequest {
  readonly method: string;
  readonly query: string;
  readonly headers: Headers;
  readonly body: string;
  /** Where the request came from; empty if unknown. */
  readonly address: string;
  /** Scheme and host as which the sandbox is addressed. */
  readonly origin: string;
}

/** The identity provider: logs users in, and ends their sessions. */
export class IdentityProvider {
  readonly tokens: SandboxTokens;
  readonly #realmPath: string;
  readonly #idTokens = new IdTokens();
  readonly #authorization: AuthorizationEndpoint;

  constructor(settings: SandboxSettings) {
    this.#realmPath = `${settings.authPath}/auth/realms/${encodeURIComponent(settings.credentials.realm)}`;
    this.#authorization = new AuthorizationEndpoint(settings);
    this.tokens = new SandboxTokens(settings, this.#authorization, this.#idTokens);
  }

  pathOf(endpoint: IdentityEndpoint): string {
    return `${this.#realmPath}/protocol/openid-connect/${endpoint}`;
  }

  endpointOf(path: string): IdentityEndpoint | undefined {
    return endpoints.find((endpoint) => path === this.pathOf(endpoint));
  }

  async respond(endpoint: IdentityEndpoint, request: IdentityRequest): Promise<Response> {
    const { method, query, headers, body, address, origin } = request;
    if (!methods[endpoint].includes(method)) {
      return jsonResponse({ error: "method_not_allowed" }, 405, { allow: methods[endpoint].join(", ") });
    }
    const issuer = origin + this.#realmPath;
    if (endpoint === "auth") return this.#authorization.respond(method, query, issuer);
    if (endpoint === "certs") return jsonResponse(await this.#idTokens.keySet());
    if (endpoint === "logout" && method === "GET") return this.#logOut(new URLSearchParams(query));
    const authorization = headers.get("authorization");
    const form = { method, body, address, issuer, authorization, contentType: headers.get("content-type") };
    return endpoint === "token" ? this.tokens.respond(form) : this.tokens.logOut(form);
  }

  /** Ends a session as OpenID Connect RP-Initiated Logout 1.0 says. */
  async #logOut(asked: URLSearchParams): Promise<Response> {
    const claims = await this.#idTokens.read(asked.get("id_token_hint") ?? "");
    if (claims === undefined) return refusalPage("Missing or invalid parameter: id_token_hint");
    const address = asked.get("post_logout_redirect_uri");
    if (address !== null && !isRedirectUri(address)) return refusalPage("Invalid parameter: post_logout_redirect_uri");
    this.tokens.endSession(claims.sid);
    if (address === null) return loggedOutPage();
    const url = new URL(address);
    const state = asked.get("state");
    if (state !== null) url.searchParams.set("state", state);
    return redirect(url.href);
  }
}

const methods: Readonly<Record<IdentityEndpoint, readonly string[]>> = {
  token: ["POST"],
  auth: ["GET", "POST"],
  logout: ["GET", "POST"],
  certs: ["GET"],
};

const endpoints = Object.keys(methods) as readonly IdentityEndpoint[];
