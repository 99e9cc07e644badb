import type { TokenPost, TokenPostRequest, TokenPostResponse } from "../../src/auth/token-endpoint.js";
import { WireFailure, type WireFailureKind } from "../../src/wire/wire-failure.js";

/** What the fake responses: a response, or the failure of an exchange without one. */
export type Reply = TokenPostResponse | WireFailure;

/** A token endpoint behind a `TokenPost`: it responds by script, or waits to be told. */
export class FakeTokenEndpoint {
  readonly requests: TokenPostRequest[] = [];
  /** When each request came, by the monotonic clock. */
  readonly arrivalsMs: number[] = [];
  mostInFlight = 0;
  readonly #script: Reply[];
  readonly #waiting: ((reply: Reply) => void)[] = [];
  #inFlight = 0;

  /** @param script the replies in order; requests beyond it wait for `reply`. */
  constructor(...script: Reply[]) {
    this.#script = script;
  }

  readonly post: TokenPost = async (request) => {
    this.requests.push(request);
    this.arrivalsMs.push(performance.now());
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    const reply = this.#script.shift() ?? (await new Promise<Reply>((resolve) => this.#waiting.push(resolve)));
    this.#inFlight -= 1;
    if (reply instanceof WireFailure) throw reply;
    return reply;
  };

  /** Requests that wait for a reply. */
  get pending(): number {
    return this.#waiting.length;
  }

  /** More script. */
  expect(...replies: Reply[]): void {
    this.#script.push(...replies);
  }

  /** Responses the oldest request that waits. */
  reply(reply: Reply): void {
    const resolve = this.#waiting.shift();
    if (resolve === undefined) throw new Error("no token request waits for a reply");
    resolve(reply);
  }

  /** The form of each request, field by field. */
  get forms(): Record<string, string>[] {
    return this.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
  }

  get grants(): (string | undefined)[] {
    return this.forms.map((form) => form.grant_type);
  }
}

/** A 200 with a token of 300 s and a refresh token, unless told otherwise. `undefined` leaves a field out. */
export function granted(accessToken: string, fields: Record<string, unknown> = {}): TokenPostResponse {
  const body = {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: 300,
    refresh_token: `refresh-of-${accessToken}`,
    ...fields,
  };
  return responded(200, body);
}

export function responded(status: number, body: unknown = {}, headers: Record<string, string> = {}): TokenPostResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, headers: { "content-type": "application/json", ...headers }, text, complete: true };
}

export const refusal = (status: number) => responded(status, { error: "invalid_grant", error_description: "Not now" });

export const neverSent = () => new WireFailure({ kind: "connection", sent: false, reason: "ECONNREFUSED" });
export const untrusted = () =>
  new WireFailure({ kind: "connection", sent: false, permanent: true, reason: "CERT_HAS_EXPIRED" });
export const maybeSent = (kind: WireFailureKind = "connection") =>
  new WireFailure({ kind, sent: true, reason: kind === "connection" ? "ECONNRESET" : "DEADLINE" });
