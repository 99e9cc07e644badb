import { encodeBase64, sha256 } from "#platform";
import { clock, now, type Timestamp } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { ConfigError } from "../core/errors.js";
import { loadOpenIdClient } from "../core/libraries.js";
import { isShowable, redactText } from "../core/redact.js";
import { parseRetryAfterMs } from "../core/retry.js";
import type { TokenEvent } from "../events/events.js";
import { type Followed, follow, type Part, serverAttributes, type Tracing } from "../events/reporter.js";
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
import { configureGrant, type LoginCallback, redeem, type UserClaims } from "./openid-grant.js";
import { type GrantFailure, isDeadGrant, refusalChecks } from "./token-error.js";

/** How a token is requested. The names are the values of `grant_type`. */
export type Grant = TokenEvent["grant"];

export interface Granted {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Absent if the response gives none, or one that makes no sense. */
  readonly lifetimeMs: number | undefined;
  /** How long the refresh token lives; absent if the response gives nothing, or no end. */
  readonly refreshLifetimeMs: number | undefined;
  /** A time before the request was sent: the server's own count can only start later. */
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

interface Credentials {
  readonly password: string;
  readonly clientSecret: string;
}

/** The form of a grant, without the client's own fields. */
type Fields = Readonly<Record<string, string>>;
type FieldsOf = (deadline: Deadline) => Promise<Fields>;

/**
 * The token endpoint (description: "Authentication", 2 to 4), through openid-client. A request never rejects: whatever goes wrong
 * becomes a `GrantFailure`, since the errors of openid-client carry tokens and passwords.
 */
export class TokenEndpoint {
  readonly #address: BaseUrl;
  readonly #auth: IdentityProviderAuth | PasswordAuth;
  readonly #transport: Transport;
  readonly timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #tracing: Tracing | undefined;
  /** The credentials of the last login. */
  #used: Credentials | undefined;
  /** What was sent and issued lately: any response may repeat it. */
  #secrets: readonly string[] = [];

  constructor({ auth, transport, signal, tracing }: TokenEndpointOptions) {
    this.#address = endpointAddress(auth, "token");
    this.#auth = { ...auth };
    this.#transport = transport;
    this.timeoutMs = auth.timeoutMs ?? 10_000;
    this.#signal = signal;
    this.#tracing = tracing;
  }

  /** For messages: `authUrl` holds no credentials. */
  get url(): string {
    return this.#address.origin + this.#address.path;
  }

  get canLogIn(): boolean {
    return "password" in this.#auth;
  }

  /** @param refused credentials that are not sent again before their time. */
  login(refused?: NotedRefusal): Promise<GrantResult> {
    const auth = this.#auth;
    if (!("password" in auth)) return Promise.resolve({ failure: { class: "session-ended" } });
    return this.#request("password", async (deadline) => {
      this.#used = await this.#readCredentials(auth, deadline);
      if (refused !== undefined && refused.mark === (await this.credentialsMark())) {
        throw new GrantError({ class: "refused", status: refused.status, isNoted: true });
      }
      return { username: auth.username, password: this.#used.password };
    });
  }

  refresh(refreshToken: string): Promise<GrantResult> {
    return this.#request("refresh_token", async () => ({ refresh_token: refreshToken }));
  }

  /** Exchanges the code of a callback for the tokens of its user. The code is used up, whatever comes of it. */
  redeem(callback: LoginCallback): Promise<GrantResult> {
    return this.#request("authorization_code", async () => ({}), callback);
  }

  /** Tells the credentials of the last login from others, by eight bits: so few reveal nothing of them. */
  async credentialsMark(): Promise<string> {
    const hash = await sha256(new TextEncoder().encode(JSON.stringify(this.#used)));
    return encodeHex(hash.subarray(0, 1));
  }

  /** Whether the user's functions return other credentials than those of the last login. Never rejects. */
  async hasOtherCredentials(): Promise<boolean> {
    const auth = this.#auth;
    if (this.#used === undefined || !("password" in auth)) return false;
    const deadline = this.#newDeadline();
    const credentials = await this.#readCredentials(auth, deadline).catch(() => this.#used);
    deadline.finish();
    return JSON.stringify(credentials) !== JSON.stringify(this.#used);
  }

  /** Ends the session of the refresh token. Never rejects: undefined if that session has ended, now or before. */
  async logout(refreshToken: string, deadline: Deadline): Promise<GrantFailure | undefined> {
    try {
      const clientSecret = await this.#readClientSecret(deadline);
      const form = new URLSearchParams(this.#formOf("logout", { refresh_token: refreshToken }, clientSecret));
      const request = toRequest(
        endpointAddress(this.#auth, "logout"),
        form.toString(),
        this.#authorization(clientSecret),
      );
      const response = await this.#transport.send(request, deadline);
      if (response.status >= 200 && response.status < 300) return undefined;
      const failure = failureOfResponse(response, [refreshToken, clientSecret]);
      return isDeadGrant(failure) ? undefined : failure;
    } catch (error) {
      return failureOf(error);
    }
  }

  #request(grant: string, fieldsOf: FieldsOf, callback?: LoginCallback): Promise<GrantResult> {
    const part = (): Part => ({
      name: "token request",
      kind: "client",
      attributes: { "http.request.method": "POST", ...serverAttributes(this.#address.origin) },
    });
    return follow(this.#tracing, part, async ({ note }) => {
      const deadline = this.#newDeadline();
      const result = await this.#requestGrant(grant, fieldsOf, callback, deadline, note).catch((error: unknown) => ({
        failure: failureOf(error),
      }));
      deadline.finish();
      if ("failure" in result) note({ "error.type": errorTypeOf(result.failure) });
      return result;
    });
  }

  async #requestGrant(
    grant: string,
    fieldsOf: FieldsOf,
    callback: LoginCallback | undefined,
    deadline: Deadline,
    note: Followed["note"],
  ): Promise<GrantResult> {
    const fields = await fieldsOf(deadline);
    const clientSecret = await this.#readClientSecret(deadline);
    const authorization = this.#authorization(clientSecret);
    const form = this.#formOf(grant, fields, clientSecret);
    const openid = await loadOpenIdClient();
    const { clientId } = this.#auth;
    const config = configureGrant(openid, this.#address, clientId, clientSecret, authorization, callback?.issuer);
    const exchange: { sent?: WireResponse | GrantFailure } = {};
    config[openid.customFetch] = async (_url, { body, headers }) => {
      const request = toRequest(this.#address, String(body), headers.authorization);
      const sent = await this.#transport.send(request, deadline).catch(failureOf);
      exchange.sent = sent;
      if ("class" in sent) throw new Error(sent.class);
      return new Response(sent.text, { status: sent.status, headers: sent.headers });
    };
    const sentAt = now();
    let claims: UserClaims | undefined;
    let refusal: unknown;
    try {
      if (callback !== undefined) claims = await redeem(openid, config, callback, form);
      // With grant_type among them, the fields keep their order.
      else await openid.genericGrantRequest(config, grant, { grant_type: grant, ...form });
    } catch (error) {
      refusal = error;
    }
    const { sent } = exchange;
    if (sent === undefined) return { failure: { class: "unprepared" } };
    if ("class" in sent) return { failure: sent };
    note({ "http.response.status_code": sent.status });
    // Read here: openid-client doesn't tell failures apart, and refuses more than is needed.
    const granted = readGranted(sent, sentAt);
    const { accessToken = "", refreshToken = "" } = granted ?? {};
    const secrets = [...Object.values(fields), clientSecret, ...secretsOf(callback), accessToken, refreshToken];
    this.#secrets = [...new Set([...secrets, ...this.#secrets])].filter((secret) => secret !== "").slice(0, 10);
    if (granted === undefined) return { failure: failureOfResponse(sent, this.#secrets) };
    if (callback !== undefined && claims === undefined) return { failure: failureOfIdToken(refusal) };
    return { granted: { ...granted, claims } };
  }

  #newDeadline(): Deadline {
    return new Deadline({ timeoutMs: this.timeoutMs, signal: this.#signal });
  }

  async #readCredentials({ password }: PasswordAuth, deadline: Deadline): Promise<Credentials> {
    return {
      password: await readSecret("password", password, deadline),
      clientSecret: await this.#readClientSecret(deadline),
    };
  }

  #readClientSecret(deadline: Deadline): Promise<string> {
    return readSecret("clientSecret", this.#auth.clientSecret ?? "", deadline);
  }

  /**
   * The form in the order of the description. It has a login's client_secret even if that is empty. A refresh has none there, but
   * Keycloak requires it of clients that have one.
   */
  #formOf(grant: string, fields: Fields, client_secret: string): Fields {
    const { clientId: client_id, clientAuthentication } = this.#auth;
    if (clientAuthentication === "basic") return fields;
    if (grant === "password") return { ...fields, client_id, client_secret };
    return { client_id, ...fields, ...(client_secret !== "" && { client_secret }) };
  }

  /** The client in a header (RFC 6749, 2.3.1), if it isn't in the form. */
  #authorization(clientSecret: string): string | undefined {
    const { clientId, clientAuthentication } = this.#auth;
    if (clientAuthentication !== "basic") return undefined;
    const pair = new TextEncoder().encode(`${encodeFormValue(clientId)}:${encodeFormValue(clientSecret)}`);
    return `Basic ${encodeBase64(pair)}`;
  }
}

/** Carries a failure that was found before anything was sent. */
class GrantError extends Error {
  readonly failure: GrantFailure;

  constructor(failure: GrantFailure) {
    super(failure.class);
    this.name = "GrantError";
    this.failure = failure;
  }
}

function secretsOf(callback: LoginCallback | undefined): string[] {
  if (callback === undefined) return [];
  const { state, nonce, verifier, url } = callback;
  return [state, nonce, verifier, url.searchParams.get("code") ?? ""];
}

function failureOf(error: unknown): GrantFailure {
  if (error instanceof GrantError) return error.failure;
  if (error instanceof ConfigError) return { class: "unprepared", problem: error.message };
  if (error instanceof Ended) return { class: classifyFailure(error), reason: "DEADLINE" };
  // Any other error may come from anywhere: the request may have been sent.
  if (!(error instanceof WireFailure)) return { class: "maybe-sent", reason: "UNKNOWN" };
  const reason = /^[\w.-]{1,64}$/.test(error.reason) ? error.reason : "UNKNOWN";
  return { class: classifyFailure(error), reason };
}

/** As OpenTelemetry has it for requests: the status of a refusal, or why there was no response. */
function errorTypeOf({ class: kind, status, reason }: GrantFailure): string {
  if (status !== undefined && status >= 400) return String(status);
  return kind === "no-secret" ? kind : (reason ?? kind);
}

/** Reads a token response (description: "Authentication", 3 and 4); undefined if it holds no bearer token. */
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
  const count = typeof seconds === "string" && /^\d+$/.test(seconds) ? Number(seconds) : seconds;
  return typeof count === "number" && Number.isFinite(count) && count >= 0 ? count * 1000 : undefined;
}

/** @param secrets what the request held in secret: the response may repeat it, and no error may show it. */
function failureOfResponse(response: WireResponse, secrets: readonly string[]): GrantFailure {
  const { status, headers, text, broken } = response;
  const { error, error_description } = parseJsonObject(text);
  const kind = classifyGrantResponse(response);
  if (kind === "unreadable" || kind === "oversized") return { class: kind, status };
  if (status === 200 && broken !== undefined) return { class: kind, reason: broken.toUpperCase().replace("-", "_") };
  const isCode = typeof error === "string" && /^[^\p{Cc}]{1,256}$/u.test(error);
  return {
    class: kind,
    status,
    // Word for word, since it may be a sentence ("Realm does not exist"); not at all if it repeats a secret.
    serviceCode: isCode && isShowable(error, secrets) && !secrets.includes(error) ? error : undefined,
    serviceMessage: typeof error_description === "string" ? toSafeLine(error_description, secrets) : undefined,
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
  if (status === 200 && broken !== undefined) return classifyBroken(broken);
  // A page of maintenance, for example, in place of a token.
  return /^text\/html\b/i.test(headers["content-type"] ?? "") || /^\s*</.test(text) ? "server-error" : "unreadable";
}

/** One line of a text that another server wrote, without the secrets; undefined if nothing is left of it. */
export function toSafeLine(text: string, secrets: readonly string[]): string | undefined {
  const line = redactText(text, secrets)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  // Very short secrets can't be taken out of a text, so the whole text is dropped.
  if (line === "" || secrets.some((secret) => secret !== "" && line.includes(secret))) return undefined;
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** The failure of a login whose ID token doesn't belong to it. Only the name of a claim is taken over. */
function failureOfIdToken(error: unknown): GrantFailure {
  const cause: unknown = Object(error).cause;
  const claims = [Object(cause).claim, Object(Object(cause).cause).claim];
  return { class: "unverified", reason: claims.find((claim) => claimNames.has(claim)) ?? "ID_TOKEN" };
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
    body: new TextEncoder().encode(body),
    maxResponseBytes: 2 ** 20,
  };
}

/**
 * The secret, or what the user's function returns. Nothing is taken over from what the function throws: it may quote secrets.
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

function encodeFormValue(value: string): string {
  return new URLSearchParams({ "": value }).toString().slice(1);
}
