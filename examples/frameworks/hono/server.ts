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

// Put authorization (the sender's own session) in a middleware before these routes.
app.use("/orders/*", small);
// 400 for invalid JSON. The fields are checked with the rest of the order.
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
  // Waiting customers get 202.
  await bank.close();
  // Idle connections would keep the process alive.
  if ("closeAllConnections" in server) server.closeAllConnections();
});
