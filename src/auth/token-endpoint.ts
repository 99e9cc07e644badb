import { redactText } from "../errors/redact.js";
import { parseRetryAfterMs } from "../timing/retry-after.js";
import { now, type Timestamp } from "../timing/timestamp.js";
import { parseJsonObject } from "../wire/parse-json-object.js";
import { type PasswordAuth, tokenEndpointUrl } from "./auth-options.js";
import { classifyResponse, failureOfWire, type Grant, type GrantFailure } from "./grant-failure.js";
import { isBearerToken } from "./token-source.js";

/** One POST of a form. Resolves whenever there is a status; rejects with a `WireFailure` when there is none. */
export type TokenPost = (request: TokenPostRequest) => Promise<TokenPostResponse>;

export interface TokenPostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export interface TokenPostResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** False where the body broke off, or was too large, after the status was known. */
  readonly complete: boolean;
}

/** What the token endpoint gave. */
export interface Granted {
  readonly accessToken: string;
  /** Absent where the response brought none. */
  readonly refreshToken: string | undefined;
  /** Absent where the response named none. */
  readonly lifetimeMs: number | undefined;
  /** The moment before the request was sent. */
  readonly sentAt: Timestamp;
}

export type GrantResult = { readonly granted: Granted } | { readonly failure: GrantFailure };

/**
 * The token endpoint (description: "Authentication", 2 to 4), through openid-client. It makes one request at a time for
 * whoever asks and never rejects: whatever goes wrong becomes a `GrantFailure`, since the errors of openid-client carry
 * tokens and passwords.
 */
export class TokenEndpoint {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly #url: string;
  readonly #auth: PasswordAuth;
  readonly #post: TokenPost;
  readonly #timeoutMs: number;

  constructor(auth: PasswordAuth, post: TokenPost, timeoutMs: number) {
    const { origin, url } = tokenEndpointUrl(auth);
    this.origin = origin;
    this.#url = url;
    this.#auth = { ...auth };
    this.#post = post;
    this.#timeoutMs = timeoutMs;
  }

  /** Begins to load what a request needs. */
  preload(): void {
    loadGrant().catch(() => {});
  }

  /** @param knownTokens whatever the response might repeat and no message may show. */
  login(knownTokens: readonly string[]): Promise<GrantResult> {
    const { clientId, clientSecret = "", username, password } = this.#auth;
    // The description sends client_secret, maybe empty; openid-client's own client authentication would leave it out.
    return this.#request(
      "password",
      { username, password, client_id: clientId, client_secret: clientSecret },
      knownTokens,
    );
  }

  /** @param knownTokens whatever the response might repeat and no message may show. */
  refresh(refreshToken: string, knownTokens: readonly string[]): Promise<GrantResult> {
    const { clientId, clientSecret = "" } = this.#auth;
    const form = { client_id: clientId, refresh_token: refreshToken };
    return this.#request(
      "refresh_token",
      clientSecret === "" ? form : { ...form, client_secret: clientSecret },
      knownTokens,
    );
  }

  async #request(grant: Grant, form: Record<string, string>, knownTokens: readonly string[]): Promise<GrantResult> {
    let failure: GrantFailure = { class: "unprepared" };
    let sentAt: Timestamp | undefined;
    const send = async (body: string): Promise<Response> => {
      sentAt = now();
      const response = await this.#send(body).catch((error: unknown) => {
        failure = failureOfWire(error);
      });
      if (response === undefined) throw new Error("no response");
      failure = this.#failureOf(response, knownTokens);
      return toNeededResponse(response);
    };
    try {
      const granted = await this.#grant(grant, form, send);
      return sentAt === undefined || granted === undefined ? { failure } : { granted: { ...granted, sentAt } };
    } catch {
      // The adapter saw all that matters; what openid-client has to say may not get out.
      return { failure };
    }
  }

  async #grant(
    grant: Grant,
    form: Record<string, string>,
    send: (body: string) => Promise<Response>,
  ): Promise<Omit<Granted, "sentAt"> | undefined> {
    const { requestGrant } = await loadGrant();
    const response = await requestGrant({ origin: this.origin, url: this.#url, grant, form, send });
    // openid-client lets tokens pass that are bound to a key; the header takes none that would break it.
    if (response.tokenType !== "bearer" || !isBearerToken(response.accessToken)) return undefined;
    const { accessToken, refreshToken, expiresIn } = response;
    return { accessToken, refreshToken, lifetimeMs: expiresIn === undefined ? undefined : expiresIn * 1000 };
  }

  async #send(body: string): Promise<TokenPostResponse> {
    return this.#post({
      url: this.#url,
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body,
      timeoutMs: this.#timeoutMs,
    });
  }

  /** What a response is as a failure. A 200 counts as unreadable until it has been read. */
  #failureOf({ status, headers, text }: TokenPostResponse, knownTokens: readonly string[]): GrantFailure {
    const failure = { class: classifyResponse(status), status };
    if (failure.class === "unreadable") return failure;
    const retryAfterMs = parseRetryAfterMs(headers["retry-after"], Date.now());
    const { username, password, clientSecret = "" } = this.#auth;
    return {
      ...failure,
      ...readErrorBody(text, [username, password, clientSecret, ...knownTokens]),
      ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
    };
  }
}

function loadGrant() {
  return import("./openid-grant.js");
}

/**
 * The response as openid-client gets to see it: of a 200 the fields that are used, of anything else the bare fact. It would
 * check an id_token against the made-up issuer and refuse a scope that is no string, and nobody here reads either.
 */
function toNeededResponse({ status, text, complete }: TokenPostResponse): Response {
  if (status !== 200 || !complete) throw new Error("no token");
  const { access_token, token_type, refresh_token, expires_in } = parseJsonObject(text);
  const lifetime = toSeconds(expires_in);
  return Response.json({
    access_token,
    token_type,
    ...(typeof refresh_token === "string" && refresh_token !== "" ? { refresh_token } : undefined),
    ...(lifetime === undefined ? undefined : { expires_in: lifetime }),
  });
}

/** A lifetime that is absent or makes no sense is none: such a token is used until a 401. */
function toSeconds(expiresIn: unknown): number | undefined {
  const seconds = typeof expiresIn === "string" && /^\d+$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

/** `error` and `error_description`, neither taken on trust. */
function readErrorBody(text: string, secrets: readonly string[]): Pick<GrantFailure, "oauthError" | "description"> {
  const { error, error_description: said } = parseJsonObject(text);
  const oauthError = typeof error === "string" && /^[\w.:-]{1,64}$/.test(error) ? error : undefined;
  const line = typeof said === "string" ? toSafeLine(said, secrets) : "";
  return {
    ...(oauthError === undefined || secrets.some((secret) => repeats(oauthError, secret)) ? undefined : { oauthError }),
    ...(line === "" ? undefined : { description: line }),
  };
}

function toSafeLine(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap(writtenForms).sort((one, other) => other.length - one.length);
  const line = redactText(text, forms)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  // Very short secrets can't be taken out of a text without tearing it, so the text goes.
  if (secrets.some((secret) => secret !== "" && line.includes(secret))) return "";
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** The value as it is, and as it stands in a form, in an address and in Base64. */
function writtenForms(secret: string): string[] {
  const inForm = new URLSearchParams({ "": secret }).toString().slice(1);
  const inBase64 = Buffer.from(secret).toString("base64");
  return [secret, inForm, encodeURIComponent(secret), inBase64, inBase64.replace(/=+$/, "")];
}

/** Whether a code gives a secret away. Two or three letters stand in any code by chance. */
function repeats(code: string, secret: string): boolean {
  return secret.length < 4 ? code === secret : code.includes(secret);
}
