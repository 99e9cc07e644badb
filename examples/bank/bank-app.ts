import { randomUUID } from "node:crypto";
import fastify, { type FastifyBaseLogger } from "fastify";
import type { Bank } from "./bank.js";
import { deskRoutes } from "./desk-routes.js";
import { isFailure } from "./failure.js";
import { loginRoutes } from "./login-routes.js";
import { failurePage, styleSheet } from "./pages.js";
import { paymentRoutes } from "./payment-routes.js";
import { probeRoutes } from "./probe-routes.js";

/** The pages, the desk and the probes of one process. They load nothing from anywhere else, and need no script. */
export function bankApp(bank: Bank, stopping: AbortSignal) {
  const loggerInstance: FastifyBaseLogger = bank.logger;
  const app = fastify({ loggerInstance, genReqId: () => randomUUID(), bodyLimit: 16_384 });

  app.addHook("onSend", async (_, reply) => {
    reply.headers(securityHeaders);
    // A connection that is kept alive would keep the process alive too.
    if (stopping.aborted) reply.header("connection", "close");
  });
  app.setErrorHandler((error, request, reply) => {
    reply.type("text/html; charset=utf-8");
    if (isFailure(error)) return reply.code(error.statusCode).send(failurePage(undefined, error.message));
    request.log.error({ err: error }, "failed");
    return reply
      .code(500)
      .send(failurePage(undefined, "Something failed. Look at your payments before you try again."));
  });
  app.get("/bank.css", (_, reply) => reply.type("text/css").send(styleSheet));
  app.register(async (scope) => probeRoutes(scope, bank, stopping));
  app.register(async (scope) => loginRoutes(scope, bank));
  app.register(async (scope) => paymentRoutes(scope, bank, stopping));
  app.register(async (scope) => deskRoutes(scope, bank));
  return app;
}

const securityHeaders = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Browsers name the origin of a form only where this lets them.
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
} as const;
