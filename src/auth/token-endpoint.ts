import { encodeBase64, sha256 } from "#platform";
import { now, type Timestamp } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { type Followed, follow, type Part, serverAttributes, type Tracing } from "../events/reporter.js";
import { encodeHex } from "../platform/encodings.js";
import type { BaseUrl } from "../wire/base-url.js";
import type { Transport, WireRequest, WireResponse } from "../wire/transport.js";
import { reasonOf } from "../wire/wire-failure.js";
import {
  type IdentityProviderAuth,
  isFormText,
  logoutAddress,
  type PasswordAuth,
  type SecretSource,
  tokenEndpointAddress,
} from "./auth-options.js";
import {
  failureOfGrant,
  failureOfIdToken,
  failureOfWire,
  type Grant,
  GrantError,
  type GrantFailure,
} from "./grant-failure.js";
import { holdsBack, type NotedRefusal } from "./hold.js";
import type { GrantedTokens, LoginCallback, UserClaims } from "./openid-grant.js";
import { requestGrant } from "./openid-grant.js";
import { readLogoutResponse, readTokenResponse, type TokenFields } from "./token-response.js";

export interface Granted {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly lifetimeMs: number | undefined;
  /** How long the refresh token lives; absent where the response gives nothing, or no end. */
  readonly refreshLifetimeMs: number | undefined;
  /** A time before the request was sent. */
  readonly sentAt: Timestamp;
  /** The ID token's claims, where a user has logged in. */
  readonly claims?: UserClaims;
}

export type GrantResult = { readonly granted: Granted } | { readonly failure: GrantFailure };

export interface TokenEndpointOptions {
  readonly auth: IdentityProviderAuth | PasswordAuth;
  readonly transport: Transport;
  /** For one request. Default: `auth.timeoutMs`, or else 10 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly tracing?: Tracing | undefined;
}

interface Credentials {
  readonly password: string;
  readonly clientSecret: string;
}

interface PreparedGrant {
  readonly grant: Grant | "authorization_code";
  readonly callback?: LoginCallback;
  /** The form, without the client's own fields. */
  readonly fields: Readonly<Record<string, string>>;
  readonly clientSecret: string;
}

interface ClientAuthentication {
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The token endpoint (description: "Authentication", 2 to 4), through openid-client. A request never rejects: whatever goes
 * wrong becomes a `GrantFailure`, since the errors of openid-client carry tokens and passwords.
 */
export class TokenEndpoint {
  readonly #address: BaseUrl;
  readonly #auth: IdentityProviderAuth | PasswordAuth;
  readonly #transport: Transport;
  readonly timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #tracing: Tracing | undefined;
  #hasResponded = false;
  /** The credentials of the last login. */
  #used: Credentials | undefined;

  constructor({ auth, transport, timeoutMs = auth.timeoutMs ?? 10_000, signal, tracing }: TokenEndpointOptions) {
    this.#tracing = tracing;
    this.#address = tokenEndpointAddress(auth);
    this.#auth = { ...auth };
    this.#transport = transport;
    this.timeoutMs = timeoutMs;
    this.#signal = signal;
  }

  /** For messages: `authUrl` holds no credentials. */
  get url(): string {
    return this.#address.origin + this.#address.path;
  }

  get canLogIn(): boolean {
    return "password" in this.#auth;
  }

  /**
   * @param knownTokens tokens that the response might repeat and no error may show.
   * @param refused a login that was refused to another process: what it was tried with is not sent again before its time.
   */
  login(knownTokens: readonly string[], refused?: NotedRefusal): Promise<GrantResult> {
    const auth = this.#auth;
    if (!("password" in auth)) return Promise.resolve({ failure: { class: "session-ended" } });
    return this.#request(knownTokens, async () => {
      const { password, clientSecret } = await this.#readCredentials(auth);
      this.#used = { password, clientSecret };
      if (refused !== undefined && holdsBack(refused, await this.credentialsMark())) {
        throw new GrantError({ class: "refused", status: refused.status, isNoted: true });
      }
      return { grant: "password", fields: { username: auth.username, password }, clientSecret };
    });
  }

  /** @param knownTokens tokens that the response might repeat and no error may show. */
  refresh(refreshToken: string, knownTokens: readonly string[]): Promise<GrantResult> {
    return this.#request(knownTokens, async () => ({
      grant: "refresh_token",
      fields: { refresh_token: refreshToken },
      clientSecret: await this.#readClientSecret(),
    }));
  }

  /** Exchanges the code of a callback for the tokens of its user. The code is used up, whatever comes of it. */
  redeem(callback: LoginCallback): Promise<GrantResult> {
    const { state, nonce, verifier, url } = callback;
    const secrets = [state, nonce, verifier, url.searchParams.get("code") ?? ""];
    return this.#request(secrets, async () => ({
      grant: "authorization_code",
      callback,
      fields: {},
      clientSecret: await this.#readClientSecret(),
    }));
  }

  /** Tells the credentials of the last login from others, by eight bits: so few tell nothing of them. */
  async credentialsMark(): Promise<string> {
    const hash = await sha256(new TextEncoder().encode(JSON.stringify(this.#used)));
    return encodeHex(hash.subarray(0, 1));
  }

  /** Whether the caller's functions return other credentials than those of the last login. Never rejects. */
  async hasOtherCredentials(): Promise<boolean> {
    const auth = this.#auth;
    const used = this.#used;
    if (used === undefined || !("password" in auth)) return false;
    if (typeof auth.password === "string" && typeof auth.clientSecret !== "function") return false;
    const deadline = new Deadline({ timeoutMs: this.timeoutMs, signal: this.#signal });
    try {
      const { password, clientSecret } = await deadline.race(this.#readCredentials(auth));
      return password !== used.password || clientSecret !== used.clientSecret;
    } catch {
      return false;
    } finally {
      deadline.finish();
    }
  }

  /** Ends the session of the refresh token. Never rejects: undefined where the session has ended. */
  async logout(refreshToken: string, deadline: Deadline): Promise<GrantFailure | undefined> {
    try {
      const clientSecret = await deadline.race(this.#readClientSecret()).catch(toSecretFailure);
      const client = this.#authenticate(clientSecret);
      const form = withoutEmptySecret(client.fields, { refresh_token: refreshToken });
      const body = new URLSearchParams(form).toString();
      const response = await this.#transport.send(toRequest(logoutAddress(this.#auth), body, client.headers), deadline);
      return readLogoutResponse(response, [refreshToken, clientSecret]);
    } catch (error) {
      return error instanceof GrantError ? error.failure : failureOfWire(error);
    }
  }

  #request(knownTokens: readonly string[], prepare: () => Promise<PreparedGrant>): Promise<GrantResult> {
    const part = (): Part => ({
      name: "token request",
      kind: "client",
      attributes: { "http.request.method": "POST", ...serverAttributes(this.#address.origin) },
    });
    return follow(this.#tracing, part, async ({ note }) => {
      const result = await this.#requestGrant(knownTokens, prepare, note);
      if ("failure" in result) note({ "error.type": errorTypeOf(result.failure) });
      return result;
    });
  }

  async #requestGrant(
    knownTokens: readonly string[],
    prepare: () => Promise<PreparedGrant>,
    note: Followed["note"],
  ): Promise<GrantResult> {
    const deadline = new Deadline({ timeoutMs: this.timeoutMs, signal: this.#signal });
    let tokens: TokenFields | undefined;
    try {
      const { grant, callback, fields, clientSecret } = await deadline.race(prepare()).catch(toSecretFailure);
      const client = this.#authenticate(clientSecret);
      const secrets = [...Object.values(fields), clientSecret, ...this.#knownCredentials(), ...knownTokens];
      // The server's own count of the lifetime can only start later.
      const sentAt = now();
      const granted = await requestGrant({
        endpoint: this.#address,
        grant,
        callback,
        clientId: this.#auth.clientId,
        // The description sends client_secret with a login even if it is empty; openid-client would leave it out.
        form: grant === "password" ? { ...fields, ...client.fields } : withoutEmptySecret(client.fields, fields),
        send: async (body) => {
          const response = await this.#send(body, client.headers, deadline);
          note({ "http.response.status_code": response.status });
          tokens = fieldsOf(response, secrets);
          return tokens;
        },
      });
      return { granted: toGranted(granted, sentAt) };
    } catch (error) {
      // Of the other grants nothing is looked at that could still be wrong.
      return { failure: tokens === undefined ? failureOfGrant(error) : failureOfIdToken(error) };
    } finally {
      deadline.finish();
    }
  }

  /** @throws {GrantError} */
  async #send(body: string, headers: Readonly<Record<string, string>>, deadline: Deadline): Promise<WireResponse> {
    try {
      const response = await this.#transport.send(toRequest(this.#address, body, headers), deadline);
      this.#hasResponded = true;
      return response;
    } catch (error) {
      throw new GrantError({ ...failureOfWire(error), ...(this.#hasResponded ? undefined : { isFirst: true }) });
    }
  }

  async #readCredentials({ password }: PasswordAuth): Promise<Credentials> {
    return { password: await readSecret("password", password), clientSecret: await this.#readClientSecret() };
  }

  /** The credentials that the endpoint has seen, whatever this request holds. */
  #knownCredentials(): string[] {
    const { username = undefined, password = undefined } = "password" in this.#auth ? this.#auth : {};
    return [username, typeof password === "string" ? password : this.#used?.password].filter(
      (text) => text !== undefined,
    );
  }

  #readClientSecret(): Promise<string> {
    return readSecret("clientSecret", this.#auth.clientSecret ?? "");
  }

  /** What identifies the client: in the form, or in a header (RFC 6749, 2.3.1). */
  #authenticate(clientSecret: string): ClientAuthentication {
    const { clientId, clientAuthentication } = this.#auth;
    if (clientAuthentication !== "basic") {
      return { fields: { client_id: clientId, client_secret: clientSecret }, headers: {} };
    }
    const pair = new TextEncoder().encode(`${encodeFormValue(clientId)}:${encodeFormValue(clientSecret)}`);
    return { fields: {}, headers: { authorization: `Basic ${encodeBase64(pair)}` } };
  }
}

/** @throws {GrantError} */
function fieldsOf(response: WireResponse, secrets: readonly string[]): TokenFields {
  const result = readTokenResponse(response, secrets);
  if ("failure" in result) throw new GrantError(result.failure);
  return result.fields;
}

/** As OpenTelemetry has it for requests: the status of a refusal, or why no response came. */
function errorTypeOf({ class: kind, status, reason }: GrantFailure): string {
  if (status !== undefined && status >= 400) return String(status);
  return isOfWire.has(kind) ? (reason ?? kind) : kind;
}

const isOfWire: ReadonlySet<string> = new Set([
  "unsent",
  "untrusted",
  "proxy-refused",
  "maybe-sent",
] satisfies GrantFailure["class"][]);

const maxResponseBytes = 2 ** 20;

/** The description's form of a refresh has no client_secret, but Keycloak demands it of clients that have one. */
function withoutEmptySecret(
  { client_secret = "", ...client }: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const form = { ...client, ...fields };
  return client_secret === "" ? form : { ...form, client_secret };
}

function toRequest(address: BaseUrl, body: string, headers: Readonly<Record<string, string>>): WireRequest {
  return {
    ...address,
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      "accept-encoding": "identity",
      ...headers,
    },
    body: new TextEncoder().encode(body),
    maxResponseBytes,
  };
}

function toGranted({ tokens: fields, claims }: GrantedTokens, sentAt: Timestamp): Granted {
  return {
    accessToken: fields.access_token,
    refreshToken: fields.refresh_token,
    lifetimeMs: toMs(fields.expires_in),
    // Keycloak's 0 stands for a refresh token without an end.
    refreshLifetimeMs: fields.refresh_expires_in === 0 ? undefined : toMs(fields.refresh_expires_in),
    sentAt,
    ...(claims === undefined ? undefined : { claims }),
  };
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

/**
 * The secret, or what the caller's function returns. Only a known code is taken over from what the function throws: its message
 * may quote secrets.
 *
 * @param name of the option.
 * @throws {GrantError}
 */
export async function readSecret(name: string, source: SecretSource): Promise<string> {
  if (typeof source === "string") return source;
  let given: unknown;
  try {
    given = await source();
  } catch (error) {
    const reason = reasonOf(error);
    throw new GrantError({ class: "no-secret", secretName: name, reason: systemCode.test(reason) ? reason : "THREW" });
  }
  if (isFormText(given)) return given;
  const hasLineBreak = typeof given === "string" && /[\r\n]/.test(given);
  const reason = hasLineBreak ? "LINE_BREAK_RETURNED" : "NO_SECRET_RETURNED";
  throw new GrantError({ class: "no-secret", secretName: name, reason });
}

/** A code of Node's or undici's, such as `ECONNREFUSED`. */
const systemCode = /^(?:E[A-Z]{3,20}|(?:ERR|UND_ERR)_[A-Z_]{3,40})$/;

/** A function of the caller's that takes too long counts as one that failed. */
function toSecretFailure(error: unknown): never {
  if (error instanceof Ended) throw new GrantError({ class: "no-secret", reason: "DEADLINE" });
  throw error;
}

function encodeFormValue(value: string): string {
  return new URLSearchParams({ "": value }).toString().slice(1);
}
