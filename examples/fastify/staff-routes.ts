import { deskListener } from "cross-border-payments/desk";
import type { FastifyInstance } from "fastify";
import type { StaffPages } from "../frameworks/staff-pages.js";

/** A plugin of Fastify, so that what it says of forms is true of these routes alone. */
export async function staffRoutes(app: FastifyInstance, pages: StaffPages): Promise<void> {
  // The pages read their forms themselves.
  app.addContentTypeParser("application/x-www-form-urlencoded", (_request, _body, done) => done(null));
  for (const [name, page] of Object.entries(pages)) {
    const listener = deskListener(page);
    app.all(`/${name}`, async (request, reply) => {
      reply.hijack();
      await listener(request.raw, reply.raw);
    });
  }
}
