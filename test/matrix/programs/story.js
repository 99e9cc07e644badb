import {
  ApiError,
  CrossBorderClient,
  exchangeRate,
  generateSigningKeyPair,
  paymentFromIntent,
  signRequest,
  verifySignature,
} from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";

/**
 * What a program does with the package, step by step, on any runtime.
 *
 * @param {object} settings
 * @param {import("cross-border-payments/sandbox").SandboxClientOptions} settings.service The service, and how to log in.
 * @param {string} settings.signingKey A private key in PEM.
 * @param {string} settings.closed An address where nobody listens.
 * @param {string} settings.silent An address that takes requests and never responds.
 * @param {string} settings.odd An address whose records are not as described.
 * @param {{ baseUrl: string, ca: string }} settings.secure An address with a certificate of a private authority.
 * @param {{ fetch?: typeof fetch }} more Options of clients that pay.
 * @returns {Promise<Record<string, string>>} what came of each step: a result, or an error and its message.
 */
export async function story(settings, more = {}) {
  const { service, signingKey, closed, silent, odd, secure } = settings;
  const auth = { accessToken: () => "a-token" };
  const client = new CrossBorderClient({ ...service, ...more, signingKey });
  let intent;
  const steps = {
    rate: async () => {
      intent = await client.paymentIntents.create(request);
      return exchangeRate(intent);
    },
    payment: async () => (await client.pay(request, takeFunds)).status,
    flow: async () => {
      const flow = new PaymentFlow({ client, journal: new MemoryJournal(), takeFunds, releaseFunds: () => {} });
      return (await flow.run("order-1", request)).status;
    },
    list: async () => {
      const payments = await client.payments.list({ size: 1 }).toArray({ max: 100 });
      return `${payments.length} payments`;
    },
    once: async () => {
      const lost = paymentFromIntent(await client.paymentIntents.create({ ...request, memo: "lost" }), "TX-lost");
      const effect = await client.payments.create(lost).then(
        () => "done",
        (error) => error.effect,
      );
      const made = (await client.payments.list().toArray({ max: 100 })).filter(({ memo }) => memo === "lost");
      return `${effect}, ${made.length} made`;
    },
    refusal: async () => {
      const error = await rejection(client.paymentGateways.get("unknown"));
      return `${error.name}, ${error instanceof ApiError}`;
    },
    keys: async () => {
      const { privateKey, publicKeyBase64: publicKey } = await generateSigningKeyPair();
      const signature = await signRequest({ path: "/payments", body: "{}", key: privateKey });
      const holds = await verifySignature({ path: "/payments", body: "{}", signature, publicKey });
      const fails = await verifySignature({ path: "/payments", body: "{ }", signature, publicKey });
      return `${holds}, ${fails}`;
    },
    deadline: async () => {
      const error = await rejection(newClient(silent).payments.list({}, { timeoutMs: 300 }));
      return `${error.name}, ${error.effect}`;
    },
    validation: async () => (await rejection(newClient(odd, { validation: "strict" }).paymentIntents.get("1"))).code,
    unsent: async () => {
      const payment = paymentFromIntent(intent, takeFunds(intent).senderGatewayTransactionId);
      return (await rejection(newClient(closed, { ...more, signingKey }).payments.create(payment))).effect;
    },
    tls: async () => (await newClient(secure.baseUrl, { tls: { ca: secure.ca } }).paymentIntents.get("1")).id,
    close: async () => `${await client.close()}`,
  };
  const told = {};
  for (const [name, step] of Object.entries(steps)) {
    try {
      told[name] = await step();
    } catch (error) {
      told[name] = `${error.name}: ${error.message}`;
    }
  }
  return told;

  function newClient(baseUrl, more = {}) {
    return new CrossBorderClient({ baseUrl, auth, ...more });
  }
}

const request = {
  senderGatewayId: "alpha-bank",
  senderCurrency: "EUR",
  senderAccount: "DE-0001",
  receiverGatewayId: "beta-mobile",
  receiverCurrency: "EUR",
  receiverAccount: "KE-7002",
  receiverAmount: "1.50",
  memo: "school fees",
};

function takeFunds({ key, id }) {
  return { senderGatewayTransactionId: `TX-${key ?? id}`, replayed: false };
}

async function rejection(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return { name: "no error", code: "no error", effect: "no error" };
}
