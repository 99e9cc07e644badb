import { randomBytes } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";

/** What the server keeps for one user. Both texts are secrets, and stay here. */
export interface UserSession {
  /** While the user is at the login page. */
  pending?: string;
  /** Once they are logged in. */
  login?: string;
}

/** Sessions in memory, each known by a cookie. A server of several processes keeps them in its database (`@fastify/session`, say). */
export class UserSessions {
  readonly #sessions = new Map<string, UserSession>();

  of(request: FastifyRequest, reply: FastifyReply): UserSession {
    return this.#sessions.get(idOf(request)) ?? this.#start(reply, {});
  }

  /** Another id for the same session: after a login, one that somebody planted before it is of no use. */
  renew(request: FastifyRequest, reply: FastifyReply, session: UserSession): void {
    this.#sessions.delete(idOf(request));
    this.#start(reply, session);
  }

  #start(reply: FastifyReply, session: UserSession): UserSession {
    const id = randomBytes(32).toString("base64url");
    this.#sessions.set(id, session);
    // Over https also: Secure.
    reply.header("set-cookie", `session=${id}; Path=/; HttpOnly; SameSite=Lax`);
    return session;
  }
}

function idOf({ headers }: FastifyRequest): string {
  return /(?:^|; )session=([\w-]+)/.exec(headers.cookie ?? "")?.[1] ?? "";
}
