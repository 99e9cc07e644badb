import type { FastifyInstance } from "fastify";
import type { Bank } from "./bank.js";
import { formOf, sessionIdOf, sessionOf, setSession, takeForms } from "./forms.js";
import { loginPage } from "./pages.js";

export function loginRoutes(app: FastifyInstance, bank: Bank): void {
  takeForms(app, bank);

  app.get("/login", (_, reply) => reply.type("text/html").send(loginPage()));

  app.post("/login", async (request, reply) => {
    const form = formOf(request);
    const id = await bank.users.logIn(form.get("name") ?? "", form.get("password") ?? "");
    if (id === undefined) return reply.code(401).type("text/html").send(loginPage("Name or password is wrong."));
    setSession(bank, reply, id);
    return reply.redirect("/", 303);
  });

  app.post("/logout", async (request, reply) => {
    const session = await sessionOf(bank, request, reply);
    if (session === undefined) return reply;
    await bank.users.logOut(sessionIdOf(bank, request.headers.cookie) ?? "");
    setSession(bank, reply, undefined);
    return reply.redirect("/login", 303);
  });
}
