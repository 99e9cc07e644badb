import {
  BadRequestError,
  CrossBorderClient,
  CrossBorderError,
  exchangeRate,
  type PaymentIntentRequest,
} from "cross-border-payments";

/** Variables and secrets of the Worker. */
export interface Env {
  readonly CROSS_BORDER_BASE_URL: string;
  readonly CROSS_BORDER_AUTH_URL: string;
  readonly CROSS_BORDER_REALM: string;
  readonly CROSS_BORDER_CLIENT_ID: string;
  readonly CROSS_BORDER_CLIENT_SECRET?: string;
  readonly CROSS_BORDER_USERNAME: string;
  readonly CROSS_BORDER_PASSWORD: string;
}

/** One for all requests to an instance of the Worker: they share its token. It opens nothing before its first call. */
let client: CrossBorderClient | undefined;

/** Shows prices with the names of both sides, and the list of payments, page by page. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    client ??= openClient(env);
    const { pathname, searchParams } = new URL(request.url);
    try {
      if (request.method === "POST" && pathname === "/prices") return await showPrice(client, request);
      if (request.method === "GET" && pathname === "/payments") {
        return await showPayments(client, searchParams.get("after") ?? undefined);
      }
      return Response.json({ error: "not_found" }, { status: 404 });
    } catch (error) {
      return showError(error);
    }
  },
};

function openClient(env: Env): CrossBorderClient {
  return new CrossBorderClient({
    baseUrl: env.CROSS_BORDER_BASE_URL,
    auth: {
      authUrl: env.CROSS_BORDER_AUTH_URL,
      realm: env.CROSS_BORDER_REALM,
      clientId: env.CROSS_BORDER_CLIENT_ID,
      clientSecret: env.CROSS_BORDER_CLIENT_SECRET,
      username: env.CROSS_BORDER_USERNAME,
      password: env.CROSS_BORDER_PASSWORD,
    },
    timeoutMs: 10_000,
  });
}

async function showPrice(client: CrossBorderClient, request: Request): Promise<Response> {
  // The client says what is wrong with it.
  const wanted = (await request.json().catch(() => undefined)) as PaymentIntentRequest;
  const intent = await client.paymentIntents.create(wanted);
  return Response.json({
    sender: intent.senderName,
    receiver: intent.receiverName,
    toPay: `${intent.senderAmount} ${intent.senderCurrency}`,
    toArrive: `${intent.receiverAmount} ${intent.receiverCurrency}`,
    rate: exchangeRate(intent),
  });
}

async function showPayments(client: CrossBorderClient, after: string | undefined): Promise<Response> {
  const { items, next } = await client.payments.list({ after, size: 50 });
  const payments = items.map(({ id, receiverName, receiverAmount, receiverCurrency, receiverGatewayStatus }) => ({
    id,
    receiver: receiverName,
    amount: `${receiverAmount} ${receiverCurrency}`,
    status: receiverGatewayStatus,
  }));
  return Response.json({ payments, next });
}

/** No message of the library holds a secret, a body or an account. */
function showError(error: unknown): Response {
  if (!(error instanceof CrossBorderError)) throw error;
  const { code, message } = error;
  console.error(message);
  return Response.json({ error: code, message }, { status: statusOf(error) });
}

function statusOf(error: CrossBorderError): number {
  if (error.code === "invalid_argument") return 400;
  return error instanceof BadRequestError ? 422 : 502;
}
