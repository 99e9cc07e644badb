import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Bank } from "./bank.js";
import { Failure } from "./failure.js";
import { isSame, type Session, type User } from "./users.js";

/** Within this scope, posts are forms of the bank's own pages. */
export function takeForms(app: FastifyInstance, { settings }: Bank): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );
  app.addHook("onRequest", async ({ method, headers }) => {
    if (method !== "POST" || headers.origin === settings.origin) return;
    throw new Failure(403, "The form comes from another site's page.");
  });
}

export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

/** Over https the cookie's name keeps other hosts of the domain from setting it. */
const cookieOf = ({ settings: { origin } }: Bank) =>
  origin.startsWith("https:")
    ? { name: "__Host-session", attributes: "Path=/; HttpOnly; SameSite=Lax; Secure" }
    : { name: "session", attributes: "Path=/; HttpOnly; SameSite=Lax" };

export function setSession(bank: Bank, reply: FastifyReply, id: string | undefined): void {
  const { name, attributes } = cookieOf(bank);
  reply.header("set-cookie", id === undefined ? `${name}=; ${attributes}; Max-Age=0` : `${name}=${id}; ${attributes}`);
}

/** @param cookies the header of a request. */
export function sessionIdOf(bank: Bank, cookies: string | null | undefined): string | undefined {
  const { name } = cookieOf(bank);
  const prefix = `${name}=`;
  return cookies
    ?.split("; ")
    .find((cookie) => cookie.startsWith(prefix))
    ?.slice(prefix.length);
}

/**
 * The session that a request belongs to; a form also has to carry its token.
 *
 * @returns `undefined` where nobody is logged in, and the response leads to the login.
 * @throws {Failure} where somebody else is, or the form is not one of theirs.
 */
export async function sessionOf(
  bank: Bank,
  request: FastifyRequest,
  reply: FastifyReply,
  role?: User["role"],
): Promise<Session | undefined> {
  const session = await bank.users.sessionOf(sessionIdOf(bank, request.headers.cookie));
  if (session === undefined) {
    reply.redirect("/login", 303);
    return undefined;
  }
  if (role !== undefined && session.user.role !== role) throw new Failure(403, `This is for a ${role}.`);
  if (request.method === "POST" && !isSame(formOf(request).get("token") ?? "", session.formToken)) {
    throw new Failure(403, "The form is an old one. Load its page again.");
  }
  return session;
}
