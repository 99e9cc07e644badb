import type { Deadline } from "../../src/core/deadline.js";
import { type Transport, WireFailure, type WireRequest, type WireResponse } from "../../src/wire/transport.js";
import { bodyText, responded } from "./fake-token-endpoint.js";

/** How the identity server treats the next request: it works, or fails in one of these ways. */
export type IdentityFault = "lost" | "lost-before" | "unsent" | "failing" | "throttled" | "bad-gateway";

interface IdentitySession {
  readonly id: number;
  readonly spent: Set<string>;
  refreshToken: string;
  isEnded: boolean;
}

export interface IdentityRequest {
  readonly grant: string;
  readonly atMs: number;
  readonly refreshToken: string | undefined;
}

/**
 * An identity server that rotates refresh tokens and, like Keycloak, ends a session when a spent one comes again. It is told apart
 * from the processes that ask it: they see only what `send` returns.
 */
export class RotatingIdentity implements Transport {
  readonly requests: IdentityRequest[] = [];
  readonly loggedOut: string[] = [];
  /** Refresh tokens that were used already when they came. */
  readonly reused: string[] = [];
  readonly faults: IdentityFault[] = [];
  latencyMs: () => number = () => 0;
  refusesLogins = false;
  rotates = true;
  /** In seconds, for tokens that are issued from now on. */
  lifetime = 300;
  refreshLifetime: number | undefined = 1800;
  readonly #sessions: IdentitySession[] = [];
  readonly #tokens = new Map<string, { readonly session: IdentitySession; readonly untilMs: number }>();
  #issued = 0;

  /** Whether a service that looks at the token alone would accept it now. */
  lives(token: string): boolean {
    return (this.#tokens.get(token)?.untilMs ?? 0) > performance.now();
  }

  /** The access tokens and sessions of now are worth nothing from now on, as an administrator does it. */
  endSessions(): void {
    for (const session of this.#sessions) session.isEnded = true;
  }

  /** The first refresh token of a new session. */
  begin(): string {
    return this.#begin().refreshToken;
  }

  /** Of the session that was begun last. */
  get newestRefreshToken(): string | undefined {
    return this.#sessions.at(-1)?.refreshToken;
  }

  get logins(): number {
    return this.requests.filter(({ grant }) => grant === "password").length;
  }

  get refreshes(): number {
    return this.requests.filter(({ grant }) => grant === "refresh_token").length;
  }

  async send(request: WireRequest, deadline: Deadline): Promise<WireResponse> {
    deadline.assertMaySend();
    const form = Object.fromEntries(new URLSearchParams(bodyText(request)));
    const refreshToken = form.refresh_token;
    if (request.path.endsWith("/logout")) {
      return this.#logOut(refreshToken ?? "");
    }
    const fault = this.faults.shift();
    if (fault === "unsent") throw new WireFailure({ sent: false, reason: "ECONNREFUSED" });
    this.requests.push({ grant: form.grant_type ?? "", atMs: performance.now(), refreshToken });
    // There and back.
    await this.#travel(deadline);
    if (fault === "lost-before") throw new WireFailure({ sent: true, reason: "ECONNRESET" });
    if (fault === "failing") return responded(503);
    if (fault === "throttled") return responded(429, {}, { "retry-after": "2" });
    const response = this.#respond(form);
    await this.#travel(deadline);
    if (fault === "lost") throw new WireFailure({ sent: true, reason: "ECONNRESET" });
    return fault === "bad-gateway" ? responded(502) : response;
  }

  /** Whether no refresh token of the newest session is worth anything, and its user would see the login page. */
  get isEnded(): boolean {
    return this.#sessions.at(-1)?.isEnded === true;
  }

  async close(): Promise<void> {}

  /** By its newest refresh token only: of any other one it says what it says of a session that has ended. */
  #logOut(refreshToken: string): WireResponse {
    this.loggedOut.push(refreshToken);
    const session = this.#sessions.find((candidate) => candidate.refreshToken === refreshToken);
    if (session === undefined || session.isEnded) return refused();
    session.isEnded = true;
    return responded(204);
  }

  async #travel(deadline: Deadline): Promise<void> {
    const ms = this.latencyMs() / 2;
    if (ms > 0) await deadline.sleep(ms);
  }

  #respond({ grant_type, refresh_token = "" }: Readonly<Record<string, string>>): WireResponse {
    if (grant_type === "password") return this.refusesLogins ? refused() : this.#issue(this.#begin());
    const session = this.#sessions.find(
      (candidate) => candidate.refreshToken === refresh_token || candidate.spent.has(refresh_token),
    );
    if (session?.spent.has(refresh_token)) {
      this.reused.push(refresh_token);
      session.isEnded = true;
    }
    if (session === undefined || session.isEnded) return refused();
    if (this.rotates) {
      session.spent.add(refresh_token);
      session.refreshToken = this.#name("refresh", session.id);
    }
    return this.#issue(session);
  }

  #begin(): IdentitySession {
    const id = this.#sessions.length + 1;
    const session = { id, spent: new Set<string>(), refreshToken: this.#name("refresh", id), isEnded: false };
    this.#sessions.push(session);
    return session;
  }

  #issue(session: IdentitySession): WireResponse {
    const token = this.#name("access", session.id);
    this.#tokens.set(token, { session, untilMs: performance.now() + this.lifetime * 1000 });
    return responded(200, {
      access_token: token,
      token_type: "Bearer",
      expires_in: this.lifetime,
      refresh_token: session.refreshToken,
      refresh_expires_in: this.refreshLifetime,
    });
  }

  #name(kind: string, session: number): string {
    this.#issued += 1;
    return `${kind}-${session}-${this.#issued}`;
  }
}

function refused(): WireResponse {
  return responded(400, { error: "invalid_grant", error_description: "Token is not active" });
}
