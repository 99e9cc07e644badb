import { deskListener, operatorDesk } from "cross-border-payments/desk";
import type { FastifyInstance } from "fastify";
import type { Bank } from "./bank.js";
import { sessionIdOf, sessionOf } from "./forms.js";

/** The library's desk, for operators who are logged in. It checks its own forms, and has its own policy. */
export function deskRoutes(app: FastifyInstance, bank: Bank): void {
  const { flow, logger, settings, users } = bank;
  const listener = deskListener(
    operatorDesk({
      flow,
      origin: settings.origin,
      csrfSecret: settings.secret,
      authenticate: async ({ headers }) => {
        const session = await users.sessionOf(sessionIdOf(bank, headers.get("cookie")));
        return session?.user.role === "operator" ? session.user : null;
      },
      on: {
        shown: (event) => logger.info({ shown: event }, "names and account numbers were shown"),
        error: (error) => logger.error({ err: error }, "the desk"),
      },
    }),
  );

  // The desk reads its forms itself.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/x-www-form-urlencoded", (_request, _body, done) => done(null));
  app.get("/desk", async (request, reply) => {
    if ((await sessionOf(bank, request, reply, "operator")) === undefined) return reply;
    reply.hijack();
    await listener(request.raw, reply.raw);
  });
  app.post("/desk", async (request, reply) => {
    reply.hijack();
    await listener(request.raw, reply.raw);
  });
}
