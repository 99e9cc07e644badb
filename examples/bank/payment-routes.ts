import { setTimeout as delay } from "node:timers/promises";
import { ApiError, CrossBorderError, InvalidArgumentError, type PaymentIntentRequest } from "cross-border-payments";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { confirmOrder, payOrder } from "../ledger-sql/orders.js";
import type { Bank } from "./bank.js";
import { Failure } from "./failure.js";
import { formOf, sessionOf, takeForms } from "./forms.js";
import { customerPage, type Order, operatorPage, orderPage, type Wanted, wantedFields } from "./pages.js";
import type { Session, User } from "./users.js";

interface OrderRequest {
  readonly Params: { readonly order: string };
}

/** Quote, confirm, and what became of it. The order's id is the flow's key: the same order is never paid twice. */
export function paymentRoutes(app: FastifyInstance, bank: Bank, stopping: AbortSignal): void {
  const { flow, pool, settings } = bank;
  takeForms(app, bank);

  app.get("/", async (request, reply) => {
    const session = await sessionOf(bank, request, reply);
    if (session === undefined) return reply;
    const text = session.user.role === "operator" ? operatorPage(session) : await customerPageOf(bank, session);
    return reply.type("text/html").send(text);
  });

  app.post("/orders", async (request, reply) => {
    const session = await sessionOf(bank, request, reply, "customer");
    if (session === undefined) return reply;
    const form = formOf(request);
    const wanted = Object.fromEntries(wantedFields.map(({ name }) => [name, form.get(name)?.trim() ?? ""])) as Wanted;
    const id = crypto.randomUUID();
    try {
      const account = await accountOf(bank, session.user);
      await flow.quote(id, { ...wanted, ...sender(bank, account) }, callOptions(request));
    } catch (error) {
      const { status, problem } = whyNoPrice(request, error);
      return reply
        .code(status)
        .type("text/html")
        .send(await customerPageOf(bank, session, { problem, wanted }));
    }
    // A quote without an order costs nothing; an order always has had a quote.
    await pool.query("insert into orders (id, customer) values ($1, $2)", [id, session.user.name]);
    return reply.redirect(`/orders/${id}`, 303);
  });

  app.get<OrderRequest>("/orders/:order", async (request, reply) => {
    const session = await sessionOf(bank, request, reply, "customer");
    if (session === undefined) return reply;
    const order = await orderOf(bank, session, request.params.order);
    return reply.type("text/html").send(orderPage(session, order, await flow.status(order.id)));
  });

  app.post<OrderRequest>("/orders/:order/quote", async (request, reply) => {
    const session = await sessionOf(bank, request, reply, "customer");
    if (session === undefined) return reply;
    const { id } = await orderOf(bank, session, request.params.order);
    const intent = (await flow.status(id))?.intent;
    if (intent === undefined) throw new Failure(410, "This payment is too old. Begin a new one.");
    try {
      await flow.quote(id, requestOf(intent), callOptions(request));
    } catch (error) {
      if (!isConfirmed(error)) {
        const { status, problem } = whyNoPrice(request, error);
        throw new Failure(status, problem);
      }
    }
    return reply.redirect(`/orders/${id}`, 303);
  });

  app.post<OrderRequest>("/orders/:order/cancel", async (request, reply) => {
    const session = await sessionOf(bank, request, reply, "customer");
    if (session === undefined) return reply;
    const { id } = await orderOf(bank, session, request.params.order);
    try {
      await flow.cancel(id, "You cancelled it.");
      await pool.query("update orders set status = 'declined' where id = $1 and status in ('open', 'quote_lost')", [
        id,
      ]);
    } catch (error) {
      if (!isConfirmed(error)) throw error;
    }
    return reply.redirect(`/orders/${id}`, 303);
  });

  app.post<OrderRequest>("/orders/:order/confirm", async (request, reply) => {
    const session = await sessionOf(bank, request, reply, "customer");
    if (session === undefined) return reply;
    const { id } = await orderOf(bank, session, request.params.order);
    const intentId = formOf(request).get("intentId") ?? "";
    // Stored first. Whatever happens to this process now, the outbox of any process pays it; whoever clicks twice confirms it once.
    if (await confirmOrder(pool, id, intentId)) {
      const confirm: typeof flow.confirm = (key, confirmed) => flow.confirm(key, confirmed, callOptions(request));
      const paying = payOrder(pool, { confirm }, id, intentId).catch((error: unknown) =>
        request.log.error({ err: error, order: id }, "not paid yet: the outbox tries again"),
      );
      await withinPatience(paying, settings.patienceMs, stopping);
    }
    return reply.redirect(`/orders/${id}`, 303);
  });
}

/** Each request that is made for a customer's has its id. */
const callOptions = ({ id }: FastifyRequest) => ({ headers: { "x-correlation-id": id } });

async function customerPageOf(
  bank: Bank,
  session: Session,
  more?: Parameters<typeof customerPage>[3],
): Promise<string> {
  const { rows } = await bank.pool.query<Order>(
    `select id, status, created_at as "createdAt" from orders where customer = $1 order by created_at desc limit 20`,
    [session.user.name],
  );
  const { balance, currency } = await accountOf(bank, session.user);
  return customerPage(session, `${balance} ${currency}`, rows, more);
}

interface Account {
  readonly id: string;
  readonly currency: string;
  readonly balance: string;
}

async function accountOf({ pool }: Bank, { account }: User): Promise<Account> {
  const { rows } = await pool.query<Account>("select id, currency, balance from accounts where id = $1", [account]);
  const [found] = rows;
  if (found === undefined) throw new Failure(403, "You have no account.");
  return found;
}

/** Never from the form: customers pay from their own account. */
const sender = ({ settings }: Bank, { id, currency }: Account) => ({
  senderGatewayId: settings.gatewayId,
  senderAccount: id,
  senderCurrency: currency,
});

/** @throws {Failure} where the session's customer has no such order. */
async function orderOf({ pool }: Bank, { user }: Session, id: string): Promise<Order> {
  const { rows } = await pool.query<Order>(
    `select id, status, created_at as "createdAt" from orders where id = $1 and customer = $2`,
    [id, user.name],
  );
  const [order] = rows;
  if (order === undefined) throw new Failure(404, "There is no such payment.");
  return order;
}

function requestOf(intent: PaymentIntentRequest): PaymentIntentRequest {
  const { senderGatewayId, senderAccount, senderCurrency, receiverGatewayId } = intent;
  const { receiverAccount, receiverCurrency, receiverAmount, memo } = intent;
  return {
    ...{ senderGatewayId, senderAccount, senderCurrency, receiverGatewayId },
    ...{ receiverAccount, receiverCurrency, receiverAmount, memo },
  };
}

/** Confirmed meanwhile, by another click: the order's page has what became of it. */
const isConfirmed = (error: unknown): boolean =>
  error instanceof InvalidArgumentError && error.code === "flow_confirmed";

/** Nothing was taken or paid, whatever failed: a quote moves no money. */
function whyNoPrice({ log }: FastifyRequest, error: unknown): { readonly status: number; readonly problem: string } {
  if (!(error instanceof CrossBorderError)) throw error;
  log.warn({ err: error }, "no price");
  if (error instanceof InvalidArgumentError) return { status: 400, problem: "Something in the form is not right." };
  const isRefused = error instanceof ApiError && [400, 404, 409, 422].includes(error.status);
  return isRefused
    ? { status: 422, problem: "The service refuses such a payment. Look at the receiver's gateway and account." }
    : { status: 503, problem: "The price can't be asked for at the moment. Nothing was taken from your account." };
}

/** Resolves when the work is done, the time is over, or the process is to end: the page then says that it is being paid. */
async function withinPatience(work: Promise<unknown>, ms: number, stopping: AbortSignal): Promise<void> {
  const given = new AbortController();
  const signal = AbortSignal.any([given.signal, stopping]);
  await Promise.race([work, delay(ms, undefined, { signal }).catch(() => {})]);
  given.abort();
}
