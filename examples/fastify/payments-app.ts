import { randomUUID } from "node:crypto";
import { type CrossBorderClient, CrossBorderError, type PaymentIntentRequest } from "cross-border-payments";
import { type FlowOutcome, FlowPausedError, type PaymentFlow } from "cross-border-payments/flow";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { StaffPages } from "../frameworks/staff-pages.js";
import { withinPatience } from "../support/within-patience.js";
import { staffRoutes } from "./staff-routes.js";

export interface PaymentsAppOptions {
  readonly flow: PaymentFlow;
  readonly client: CrossBorderClient;
  readonly gatewayId: string;
  /** The operators' desk, and the login before it. */
  readonly staff: StaffPages;
  /** How long a customer waits for the outcome before the page says that it will take longer. */
  readonly patienceMs: number;
  /** Aborts when the process is to end: nobody waits any longer then. */
  readonly stopping: AbortSignal;
}

/** A request that names an order. The order's id is the flow's key: the same order is never paid twice. */
interface OrderRequest {
  readonly Params: { readonly order: string };
}

type Transfer = Omit<PaymentIntentRequest, "senderGatewayId">;

/**
 * A gateway's back end: it quotes in one request, and confirms at exactly that price in another one, maybe on another machine.
 * Who may call what (the sender's own session) belongs into a hook before these routes.
 */
export function paymentsApp({
  flow,
  client,
  gatewayId,
  staff,
  patienceMs,
  stopping,
}: PaymentsAppOptions): FastifyInstance {
  const app = fastify({ logger: true, requestIdHeader: "x-correlation-id", genReqId: () => randomUUID() });

  // A connection that is kept alive would keep the process alive too.
  app.addHook("onSend", async (_, reply) => {
    if (stopping.aborted) reply.header("connection", "close");
  });

  // Every request that is made for this one carries its id.
  const callOptions = ({ id }: FastifyRequest) => ({ headers: { "x-correlation-id": id } });

  app.put<OrderRequest & { Body: Transfer }>(
    "/orders/:order/quote",
    { schema: { body: transfer } },
    async (request) => {
      const wanted = { ...request.body, senderGatewayId: gatewayId };
      const { intent, expiresAtMs } = await flow.quote(request.params.order, wanted, callOptions(request));
      return {
        intentId: intent.id,
        toPay: `${intent.senderAmount} ${intent.senderCurrency}`,
        toArrive: `${intent.receiverAmount} ${intent.receiverCurrency}`,
        receiver: intent.receiverName,
        expiresAt: new Date(expiresAtMs).toISOString(),
      };
    },
  );

  app.delete<OrderRequest>("/orders/:order/quote", async (request) => {
    const { status } = await flow.cancel(request.params.order, "the customer left");
    return { status };
  });

  app.post<OrderRequest & { Body: { intentId: string } }>(
    "/orders/:order/confirm",
    { schema: { body: confirmation } },
    async (request, reply) => {
      const { order } = request.params;
      const { intentId } = request.body;
      const outcome = flow.confirm(order, { intentId }, callOptions(request));
      const known = await withinPatience(outcome, patienceMs, stopping);
      if (known !== undefined) return showOutcome(known, reply);
      // The flow goes on, here or in another process; the customer's page asks for its status.
      outcome.catch((error: unknown) => request.log.warn({ err: error }, "the flow stopped before its outcome"));
      return showPending(order, reply);
    },
  );

  app.get<OrderRequest>("/orders/:order", async (request, reply) => {
    const { order } = request.params;
    const status = await flow.status(order);
    if (status === undefined) return reply.code(404).send({ error: "flow_unknown" });
    if (status.outcome !== undefined) return showOutcome(status.outcome, reply);
    if (status.phase === "quoted") return { status: "quoted", intentId: status.intent?.id };
    return showPending(order, reply);
  });

  app.register(staffRoutes, staff);

  app.get("/health", async (_, reply) => {
    const [[journal], service] = await Promise.all([
      Promise.allSettled([flow.counts()]),
      // Needs an access token, a connection and a service that responds.
      client.check({ timeoutMs: 2000 }),
    ]);
    return reply.code(journal.status === "fulfilled" && service.ok ? 200 : 503).send({
      flows: journal.status === "fulfilled" ? journal.value : codeOf(journal.reason),
      service: service.ok ? "ok" : codeOf(service.error),
    });
  });

  app.setErrorHandler((error, request, reply) => {
    if (error instanceof FlowPausedError) {
      request.log.warn({ err: error }, "the flow stopped before its outcome");
      return showPending(error.key, reply);
    }
    if (!(error instanceof CrossBorderError)) return reply.send(error);
    const { code, effect, message } = error;
    request.log.warn({ err: error }, "refused");
    // No message of the library holds a secret, a body or an account.
    return reply.code(statusCodes.get(code) ?? 502).send({ error: code, effect, message });
  });

  return app;
}

/** What a customer can do something about; whatever else fails is not theirs. */
const statusCodes: ReadonlyMap<string, number> = new Map([
  ["invalid_argument", 400],
  ["flow_unknown", 404],
  ["flow_key_reused", 409],
  ["flow_confirmed", 409],
  ["quote_changed", 409],
  ["quote_expired", 409],
  ["flow_circuit_open", 503],
  ["flow_closed", 503],
]);

/** 202 means: neither paid nor refused yet. The page polls, and money is given back by nobody but the flow. */
function showPending(order: string, reply: FastifyReply): FastifyReply {
  const location = `/orders/${encodeURIComponent(order)}`;
  return reply.code(202).headers({ location, "retry-after": "2" }).send({ status: "pending" });
}

function showOutcome(outcome: FlowOutcome, reply: FastifyReply): FastifyReply {
  switch (outcome.status) {
    case "paid":
      return reply.send({ status: "paid", paymentId: outcome.payment.id });
    case "held":
      // For the customer it takes longer; operators decide at the desk.
      return showPending(outcome.key, reply);
    case "declined":
      return reply.send({ status: "declined" });
    case "rejected":
      return reply.send({ status: "rejected", why: outcome.refusal.code });
  }
}

function codeOf(error: unknown): string {
  return error instanceof CrossBorderError ? error.code : "unknown";
}

const text = { type: "string", minLength: 1, maxLength: 512 } as const;
const objectOf = (properties: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}) => ({
  type: "object",
  additionalProperties: false,
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});

const transfer = objectOf(
  {
    senderAccount: text,
    senderCurrency: text,
    receiverGatewayId: text,
    receiverAccount: text,
    receiverCurrency: text,
    receiverAmount: text,
  },
  { memo: { type: "string", maxLength: 512, default: "" } },
);
const confirmation = objectOf({ intentId: text });
