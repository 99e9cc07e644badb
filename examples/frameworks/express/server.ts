import { deskListener } from "cross-border-payments/desk";
import express, { type NextFunction, type Request, type Response } from "express";
import { Bank } from "../bank.ts";
import { customerLeft } from "../customer-left.ts";
import { confirmOrder, health, quoteOrder, showOrder } from "../orders.ts";
import { type Reply, replyToError } from "../reply.ts";
import { setting } from "../setting.ts";
import { staffPages } from "../staff-pages.ts";

const bank = await Bank.open();
const { login, desk } = staffPages(bank.flow);
const app = express();

app.all("/login", deskListener(login));
app.all("/desk", deskListener(desk));

// Put authorization (the sender's own session) in a middleware before these routes.
app.use("/orders", express.json({ limit: "16kb" }));
app.put("/orders/:order/quote", async ({ params, body }, response) => {
  send(response, await quoteOrder(bank, params.order, body, customerLeft(response)));
});
app.post("/orders/:order/confirm", async ({ params, body }, response) => {
  send(response, await confirmOrder(bank, params.order, body));
});
app.get("/orders/:order", async ({ params }, response) => {
  send(response, await showOrder(bank, params.order));
});
app.get("/health", async (_, response) => {
  send(response, await health(bank));
});

app.use((error: unknown, _: Request, response: Response, next: NextFunction) => {
  if (response.headersSent) return next(error);
  send(response, replyToError(error));
});

function send(response: Response, { status, headers = {}, body }: Reply): void {
  response.status(status).set(headers).json(body);
}

const server = app.listen(Number(setting("PORT", "3000")));

process.once("SIGTERM", async () => {
  server.close();
  // Waiting customers get 202.
  await bank.close();
  // Idle connections would keep the process alive.
  server.closeAllConnections();
});
