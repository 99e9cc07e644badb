import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { validator } from "hono/validator";
import { Bank } from "../bank.ts";
import { confirmOrder, health, quoteOrder, showOrder } from "../orders.ts";
import { type Reply, replyToError } from "../reply.ts";
import { setting } from "../setting.ts";
import { staffPages } from "../staff-pages.ts";

const bank = await Bank.open();
const { login, desk } = staffPages(bank.flow);
const app = new Hono();

const small = bodyLimit({ maxSize: 16 * 1024 });
app.all("/login", small, (c) => login(c.req.raw));
app.all("/desk", (c) => desk(c.req.raw));

// Who may call what (the sender's own session) belongs into a middleware before these routes.
app.use("/orders/*", small);
// 400 where the body is no JSON. What has to be in it is checked with the rest of the order.
const json = validator("json", (body: unknown) => ({ body }));
app.put("/orders/:order/quote", json, async (c) =>
  respond(await quoteOrder(bank, c.req.param("order"), c.req.valid("json").body, c.req.raw.signal)),
);
app.post("/orders/:order/confirm", json, async (c) =>
  respond(await confirmOrder(bank, c.req.param("order"), c.req.valid("json").body)),
);
app.get("/orders/:order", async (c) => respond(await showOrder(bank, c.req.param("order"))));
app.get("/health", async () => respond(await health(bank)));

app.onError((error) => respond(replyToError(error)));

function respond({ status, headers = {}, body }: Reply): Response {
  return Response.json(body, { status, headers });
}

const server = serve({ fetch: app.fetch, port: Number(setting("PORT", "3000")) });

process.once("SIGTERM", async () => {
  server.close();
  // Customers who wait get 202.
  await bank.close();
  // Those that are kept alive, or that no request has come over, would keep the process alive too.
  if ("closeAllConnections" in server) server.closeAllConnections();
});
