import { type Deadline, Ended } from "../../src/core/deadline.js";
import { type Transport, WireFailure, type WireRequest, type WireResponse } from "../../src/wire/transport.js";

/** What a request gets: a response, or the error of a transport that got none. */
export type Reply = WireResponse | WireFailure | Ended;

/** A reply, or what makes one of the request. */
export type Scripted = Reply | ((request: WireRequest) => Reply);

/** A transport with a token endpoint at its other end, which replies by script or waits for `reply`. */
export class FakeTokenEndpoint implements Transport {
  readonly requests: WireRequest[] = [];
  /** When each request arrived, by the monotonic clock. */
  readonly arrivalsMs: number[] = [];
  /** How long each request could wait for its response. */
  readonly timeoutsMs: number[] = [];
  mostInFlight = 0;
  readonly #script: Scripted[];
  readonly #waiting: ((reply: Reply) => void)[] = [];
  #inFlight = 0;

  /** @param script the replies in order; requests beyond it wait for `reply`. */
  constructor(...script: Scripted[]) {
    this.#script = script;
  }

  async send(request: WireRequest, deadline: Deadline): Promise<WireResponse> {
    deadline.assertMaySend();
    this.requests.push(request);
    this.arrivalsMs.push(performance.now());
    this.timeoutsMs.push(deadline.remainingMs());
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    const scripted = this.#script.shift() ?? (await this.#nextReply(deadline));
    const reply = typeof scripted === "function" ? scripted(request) : scripted;
    this.#inFlight -= 1;
    if (reply instanceof Error) throw reply;
    return reply;
  }

  async close(): Promise<void> {}

  /** Requests that wait for a reply. */
  get pending(): number {
    return this.#waiting.length;
  }

  /** Adds to the script. */
  expect(...replies: Reply[]): void {
    this.#script.push(...replies);
  }

  /** Replies to the oldest request that waits. */
  reply(reply: Reply): void {
    const resolve = this.#waiting.shift();
    if (resolve === undefined) throw new Error("no token request waits for a reply");
    resolve(reply);
  }

  /** The form of each request, field by field. */
  get forms(): Record<string, string>[] {
    return this.requests.map((request) => Object.fromEntries(new URLSearchParams(bodyText(request))));
  }

  get grants(): (string | undefined)[] {
    return this.forms.map((form) => form.grant_type);
  }

  #nextReply(deadline: Deadline): Promise<Reply> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      deadline.onEnd(() => {
        this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
        resolve(deadline.failure(true));
      });
    });
  }
}

export function bodyText({ body }: WireRequest): string {
  return body ?? "";
}

/** A 200 with a token of 300 s and a refresh token, unless told otherwise. `undefined` leaves a field out. */
export function granted(accessToken: string, fields: Record<string, unknown> = {}): WireResponse {
  const body = {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: 300,
    refresh_token: `refresh-of-${accessToken}`,
    ...fields,
  };
  return responded(200, body);
}

export function responded(status: number, body: unknown = {}, headers: Record<string, string> = {}): WireResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, headers: { "content-type": "application/json", ...headers }, text };
}

export const refusal = (status: number) => responded(status, { error: "invalid_grant", error_description: "Not now" });

export const notSent = () => new WireFailure({ sent: false, reason: "ECONNREFUSED" });
export const unknownHost = () => new WireFailure({ sent: false, reason: "ENOTFOUND" });
export const untrusted = () => new WireFailure({ sent: false, permanent: true, reason: "CERT_HAS_EXPIRED" });
export const maybeSent = () => new WireFailure({ sent: true, reason: "ECONNRESET" });
export const timedOut = () => new Ended("timeout", true);
