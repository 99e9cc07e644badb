import { CrossBorderClient, type ServerLogin, TokenError } from "cross-border-payments";
import Fastify, { type FastifyInstance } from "fastify";
import { UserSessions } from "./user-sessions.js";

/** Pages of users who log in at the identity provider. The calls of each are made with their own tokens. */
export function tellerApp(login: ServerLogin, baseUrl: string): FastifyInstance {
  const app = Fastify();
  const sessions = new UserSessions();

  app.get("/login", async (request, reply) => {
    const { url, pending } = await login.begin();
    sessions.of(request, reply).pending = pending;
    return reply.redirect(url);
  });

  app.get("/callback", async (request, reply) => {
    const session = sessions.of(request, reply);
    const { pending } = session;
    // It is good for one callback.
    delete session.pending;
    const user = await login.finish(request.url, pending);
    sessions.renew(request, reply, { login: user.save() });
    return reply.redirect("/payments");
  });

  app.get("/payments", async (request, reply) => {
    const { login: saved } = sessions.of(request, reply);
    if (saved === undefined) return reply.redirect("/login");
    const user = login.resume(saved);
    await using client = new CrossBorderClient({ baseUrl, auth: user });
    const { items } = await client.payments.list({ sort: "createdAt.desc", size: 20 });
    return { user: user.claims.sub, payments: items.map(({ id, receiverAmount }) => ({ id, receiverAmount })) };
  });

  app.post("/logout", async (request, reply) => {
    const session = sessions.of(request, reply);
    const { login: saved } = session;
    // Where it throws, the session may go on, and the user can try again.
    if (saved !== undefined) await login.resume(saved).logout();
    delete session.login;
    return reply.redirect("/goodbye", 303);
  });

  app.get("/goodbye", async () => "You are logged out.");

  app.setErrorHandler(async (error, request, reply) => {
    if (!(error instanceof TokenError)) throw error;
    if (error.code === "session_ended" && request.method === "GET") return reply.redirect("/login");
    if (request.url === "/logout") {
      return reply.code(503).send({ error: error.code, message: "You may still be logged in. Try again." });
    }
    const refused = error.code === "login_denied" ? "You did not log in." : "The login failed. Try again.";
    return reply.code(401).send({ error: error.code, message: refused });
  });

  return app;
}
