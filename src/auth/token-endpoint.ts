import { sha256 } from "#platform";
import { clock, now, type Timestamp } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { ConfigError } from "../core/errors.js";
import { loadOpenIdClient } from "../core/libraries.js";
import { redactText } from "../core/redact.js";
import { parseRetryAfterMs } from "../core/retry.js";
import { follow, type Part, serverAttributes, type Tracing } from "../events/reporter.js";
import { classifyBroken, classifyFailure, classifyResponse } from "../http/decision.js";
import { isBearerToken } from "../http/token-source.js";
import { encodeHex } from "../platform/encodings.js";
import type { BaseUrl } from "../wire/base-url.js";
import { parseJsonObject, provesNothing } from "../wire/response.js";
import { type Transport, WireFailure, type WireRequest, type WireResponse } from "../wire/transport.js";
import {
  endpointAddress,
  type IdentityProviderAuth,
  isFormText,
  type PasswordAuth,
  type SecretSource,
} from "./auth-options.js";
import { configure, type LoginCallback, redeem, type UserClaims } from "./openid-grant.js";
import { type GrantFailure, isDeadGrant, refusalChecks } from "./token-error.js";

export interface Granted {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Absent if the response gives none, or one that makes no sense. */
  readonly lifetimeMs: number | undefined;
  /** How long the refresh token lives. Absent if the response gives nothing, or no end. */
  readonly refreshLifetimeMs: number | undefined;
  /** A time before the request was sent, since the server's own count can only start later. */
  readonly sentAt: Timestamp;
  /** The ID token's claims, of a user who has logged in. */
  readonly claims?: UserClaims | undefined;
}

export type GrantResult = { readonly granted: Granted } | { readonly failure: GrantFailure };

/** A login that was refused to another process, which has noted it in the token store. */
export interface NotedRefusal {
  /** Tells its credentials from others. */
  readonly mark: string | undefined;
  readonly status: number;
}

export interface TokenEndpointOptions {
  readonly auth: IdentityProviderAuth | PasswordAuth;
  readonly transport: Transport;
  readonly signal?: AbortSignal;
  readonly tracing?: Tracing | undefined;
}

/** The form of a grant, without the client's own fields. */
type Fields = Readonly<Record<string, string>>;
type FieldsOf = (deadline: Deadline, clientSecret: string) => Promise<Fields>;

/**
 * The token endpoint (description: "Authentication", 2 to 4), through openid-client. A request never rejects. Each
 * error becomes a `GrantFailure`, since the errors of openid-client carry tokens and passwords.
 */
export class TokenEndpoint {
  readonly #options: TokenEndpointOptions;
  readonly #address: BaseUrl;
  readonly timeoutMs: number;
  /** The password and the client's secret of the last login. */
  #used: string | undefined;

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
    this.#address = endpointAddress(options.auth, "token");
    this.timeoutMs = options.auth.timeoutMs ?? 10_000;
  }

  /** For messages: `authUrl` holds no credentials. */
  get url(): string {
    return this.#address.origin + this.#address.path;
  }

  get canLogIn(): boolean {
    return "password" in this.#options.auth;
  }

  /** @param refused credentials that are not sent again before their time. */
  login(refused?: NotedRefusal): Promise<GrantResult> {
    const { auth } = this.#options;
    if (!("password" in auth)) return Promise.resolve({ failure: { class: "session-ended" } });
    return this.#request("password", async (deadline, clientSecret) => {
      const password = await readSecret("password", auth.password, deadline);
      this.#used = JSON.stringify([password, clientSecret]);
      if (refused !== undefined && refused.mark === (await this.credentialsMark())) {
        throw new GrantError({ class: "refused", status: refused.status, isNoted: true });
      }
      return { username: auth.username, password };
    });
  }

  refresh(refreshToken: string): Promise<GrantResult> {
    return this.#request("refresh_token", async () => ({ refresh_token: refreshToken }));
  }

  /** Exchanges the code of a callback for the tokens of its user. The code is used up in any case. */
  redeem(callback: LoginCallback): Promise<GrantResult> {
    return this.#request("authorization_code", async () => ({}), callback);
  }

  /** Tells the credentials of the last login from others, by eight bits, which reveal nothing of them. */
  async credentialsMark(): Promise<string> {
    return (await hashOf(this.#used)).slice(0, 2);
  }

  /** Whether the user's functions return other credentials than those of the last login. Never rejects. */
  async hasOtherCredentials(): Promise<boolean> {
    const { auth } = this.#options;
    if (this.#used === undefined || !("password" in auth)) return false;
    const deadline = this.#newDeadline();
    const asked = [readSecret("password", auth.password, deadline), this.#readClientSecret(deadline)];
    const found = await Promise.all(asked).then(JSON.stringify, () => this.#used);
    deadline.finish();
    return found !== this.#used;
  }

  /** Ends the session of the refresh token. Never rejects, and returns undefined if that session has ended, now or before. */
  async logout(refreshToken: string, deadline: Deadline): Promise<GrantFailure | undefined> {
    const { auth, transport } = this.#options;
    try {
      const clientSecret = await this.#readClientSecret(deadline);
      const { form, authorization } = this.#identify("logout", { refresh_token: refreshToken }, clientSecret);
      const body = new URLSearchParams(form).toString();
      const response = await transport.send(toRequest(endpointAddress(auth, "logout"), body, authorization), deadline);
      if (response.status >= 200 && response.status < 300) return undefined;
      const failure = failureOfResponse(response, [refreshToken, clientSecret]);
      return isDeadGrant(failure) ? undefined : failure;
    } catch (error) {
      return failureOf(error);
    }
  }

  #request(grant: string, fieldsOf: FieldsOf, callback?: LoginCallback): Promise<GrantResult> {
    const { auth, transport, tracing } = this.#options;
    const part = (): Part => ({
      name: "token request",
      kind: "client",
      attributes: { "http.request.method": "POST", ...serverAttributes(this.#address.origin) },
    });
    return follow(tracing, part, async ({ note }) => {
      const deadline = this.#newDeadline();
      try {
        const clientSecret = await this.#readClientSecret(deadline);
        const fields = await fieldsOf(deadline, clientSecret);
        const { form, authorization } = this.#identify(grant, fields, clientSecret);
        const openid = await loadOpenIdClient();
        const config = configure(openid, auth, callback?.issuer);
        const exchange: { response?: Promise<WireResponse> } = {};
        config[openid.customFetch] = async (_url, { body }) => {
          exchange.response = transport.send(toRequest(this.#address, String(body), authorization), deadline);
          const { text, ...rest } = await exchange.response;
          return new Response(text, rest);
        };
        const sentAt = now();
        const granting =
          callback === undefined
            ? // With grant_type among them, the fields keep their order.
              openid.genericGrantRequest(config, grant, { grant_type: grant, ...form })
            : redeem(openid, config, callback, form);
        const outcome: unknown = await granting.catch((error: unknown) => new GrantError(failureOfIdToken(error)));
        const response = await exchange.response;
        if (response === undefined) throw new GrantError({ class: "unprepared" });
        note({ "http.response.status_code": response.status });
        // openid-client doesn't tell failures apart, and refuses more than is needed.
        const granted = readGranted(response, sentAt);
        if (granted === undefined) {
          const code = callback?.url.searchParams.get("code") ?? "";
          const secrets = [...Object.values({ ...fields, ...callback }), code, clientSecret].map(String);
          throw new GrantError(failureOfResponse(response, secrets));
        }
        if (callback === undefined) return { granted };
        if (outcome instanceof GrantError) throw outcome;
        return { granted: { ...granted, claims: outcome as UserClaims } };
      } catch (error) {
        const failure = failureOf(error);
        note({ "error.type": errorTypeOf(failure) });
        return { failure };
      } finally {
        deadline.finish();
      }
    });
  }

  #newDeadline(): Deadline {
    return new Deadline({ timeoutMs: this.timeoutMs, signal: this.#options.signal });
  }

  #readClientSecret(deadline: Deadline): Promise<string> {
    return readSecret("clientSecret", this.#options.auth.clientSecret ?? "", deadline);
  }

  /**
   * Adds the client to the form, in the order of the description, or to a header (RFC 6749, 2.3.1; `ClientSecretBasic` of openid-client
   * escapes hyphens and dots too, which servers that decode nothing refuse). A login's form has client_secret even if that is empty. A refresh has none in the description, but Keycloak requires it of clients that have one.
   */
  #identify(grant: string, fields: Fields, client_secret: string): { form: Fields; authorization?: string } {
    const { clientId: client_id, clientAuthentication } = this.#options.auth;
    if (clientAuthentication === "basic") {
      const pair = [client_id, client_secret].map((value) => new URLSearchParams({ "": value }).toString().slice(1));
      return { form: fields, authorization: `Basic ${btoa(pair.join(":"))}` };
    }
    if (grant === "password") return { form: { ...fields, client_id, client_secret } };
    return { form: { client_id, ...fields, ...(client_secret !== "" && { client_secret }) } };
  }
}

/** Carries a failure to the end of its request. */
class GrantError extends Error {
  readonly failure: GrantFailure;

  constructor(failure: GrantFailure) {
    super(failure.class);
    this.failure = failure;
  }
}

function failureOf(error: unknown): GrantFailure {
  if (error instanceof GrantError) return error.failure;
  if (error instanceof ConfigError) return { class: "unprepared", problem: error.message };
  if (error instanceof Ended) return { class: classifyFailure(error), reason: "DEADLINE" };
  // Any other error may come from anywhere: the request may have been sent.
  const wire = error instanceof WireFailure ? error : new WireFailure({ sent: true, reason: "UNKNOWN" });
  return { class: classifyFailure(wire), reason: wire.reason };
}

/** The status of a refusal, or why there was no response, as OpenTelemetry defines it for requests. */
function errorTypeOf({ class: kind, status, reason }: GrantFailure): string {
  if (status !== undefined && status >= 400) return String(status);
  return kind === "no-secret" ? kind : (reason ?? kind);
}

/** Reads a token response (description: "Authentication", 3 and 4). Undefined if it holds no bearer token. */
function readGranted({ status, text, broken }: WireResponse, sentAt: Timestamp): Granted | undefined {
  const body = status === 200 && broken === undefined ? parseJsonObject(text) : {};
  const { access_token, token_type, refresh_token, expires_in, refresh_expires_in } = body;
  // A token that is bound to a key is of no use here.
  if (typeof token_type !== "string" || token_type.toLowerCase() !== "bearer") return undefined;
  if (!isBearerToken(access_token)) return undefined;
  return {
    accessToken: access_token,
    refreshToken: typeof refresh_token === "string" && refresh_token !== "" ? refresh_token : undefined,
    lifetimeMs: toMs(expires_in),
    // Not described, but Keycloak sends it. Its 0 means no end.
    refreshLifetimeMs: refresh_expires_in === 0 ? undefined : toMs(refresh_expires_in),
    sentAt,
  };
}

/** A lifetime that makes no sense counts as none: such a token is used until a 401. */
function toMs(seconds: unknown): number | undefined {
  const count = Number.parseFloat(String(seconds));
  return count >= 0 && Number.isFinite(count) ? count * 1000 : undefined;
}

/** @param secrets what the request kept secret. The response may repeat it, and no error may show it. */
function failureOfResponse(response: WireResponse, secrets: readonly string[]): GrantFailure {
  const { status, headers, text, broken } = response;
  const { error, error_description } = parseJsonObject(text);
  return {
    class: classifyGrantResponse(response),
    status,
    reason: broken?.toUpperCase().replace("-", "_"),
    serviceCode: toSafeLine(error, secrets),
    serviceMessage: toSafeLine(error_description, secrets),
    retryAfterMs: parseRetryAfterMs(headers["retry-after"], clock.wallMs()),
  };
}

/** The same classes as for calls. A 4xx is the endpoint's own refusal only with a code of RFC 6749. */
function classifyGrantResponse(response: WireResponse): GrantFailure["class"] {
  const { status, headers, text, broken } = response;
  const kind = classifyResponse(response, () => refusalChecks.has(parseJsonObject(text).error));
  // It says as little of the credentials as a 5xx does.
  if (kind === "refused-by-another" && provesNothing(status)) return "server-error";
  if (kind !== undefined) return kind;
  if (broken !== undefined) return classifyBroken(broken);
  // A page of maintenance, for example, in place of a token.
  return /^text\/html\b/i.test(headers["content-type"] ?? "") || /^\s*</.test(text) ? "server-error" : "unreadable";
}

/** One line of a text that another server wrote, without the secrets. Undefined if nothing is left of it. */
export function toSafeLine(text: unknown, secrets: readonly string[]): string | undefined {
  if (typeof text !== "string") return undefined;
  const line = redactText(text, secrets)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  if (line === "") return undefined;
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** The failure of a login whose ID token doesn't belong to it. Only the name of a claim is taken over. */
function failureOfIdToken(error: unknown): GrantFailure {
  const { claim } = Object(Object(Object(error).cause).cause);
  return { class: "unverified", reason: claimNames.has(claim) ? claim : "ID_TOKEN" };
}

const claimNames: ReadonlySet<unknown> = new Set(["iss", "sub", "aud", "azp", "exp", "nbf", "nonce"]);

function toRequest({ origin, path }: BaseUrl, body: string, authorization: string | undefined): WireRequest {
  return {
    method: "POST",
    origin,
    path,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      "accept-encoding": "identity",
      ...(authorization !== undefined && { authorization }),
    },
    body,
    maxResponseBytes: 2 ** 20,
  };
}

/**
 * The secret, or the result of the user's function. An error that the function throws may quote secrets, so no part of it is used.
 *
 * @param name of the option.
 * @throws {GrantError}
 */
async function readSecret(name: string, source: SecretSource, deadline: Deadline): Promise<string> {
  if (typeof source === "string") return source;
  let reason = "NO_SECRET_RETURNED";
  try {
    const given = await deadline.race((async () => source())());
    if (isFormText(given)) return given;
  } catch (error) {
    reason = error instanceof Ended ? "DEADLINE" : "THREW";
  }
  throw new GrantError({ class: "no-secret", secretName: name, reason });
}

/** SHA-256 in hex of a value that JSON can write. */
export async function hashOf(value: unknown): Promise<string> {
  return encodeHex(await sha256(new TextEncoder().encode(JSON.stringify(value))));
}
