/**
 * The main job from end to end: `npm run demo`. A service in memory listens on loopback, two gateways are registered, and one of
 * them pays the other in two steps, over HTTP, with a real signature.
 */
import {
  BadRequestError,
  CrossBorderClient,
  exactExchangeRate,
  exchangeRate,
  generateSigningKeyPair,
  type Payment,
  type PaymentIntentRequest,
  type SigningKeyPair,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "cross-border-payments";
import { type SandboxServer, startSandbox } from "cross-border-payments/sandbox";
import { Narrator, shorten } from "./narrator.js";
import { DemoWire, surviveCrash } from "./survive-crash.js";
import { verifyWithOpenssl } from "./verify-with-openssl.js";

const paymentsInAll = 250;

const order: PaymentIntentRequest = {
  senderGatewayId: "alpha-bank",
  senderCurrency: "EUR",
  senderAccount: "DE-0001",
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  memo: "school fees",
};

async function main(): Promise<number> {
  const started = performance.now();
  const narrator = new Narrator();
  const wire = new DemoWire();
  const server = await startSandbox({
    basePath: "/gateway/v1",
    fee: "25.50",
    maxSize: 100,
    onResponse: wire.onResponse,
  });
  try {
    await tell(narrator, server, wire);
  } finally {
    await server.close();
  }
  narrator.end((performance.now() - started) / 1000);
  return narrator.failed === 0 ? 0 : 1;
}

async function tell(narrator: Narrator, server: SandboxServer, wire: DemoWire): Promise<void> {
  narrator.chapter("A service to talk to");
  narrator.say(`The sandbox listens on ${server.baseUrl} (the described service, in memory).`);

  narrator.chapter("Two gateways with RSA keys of their own");
  const [alphaKeys, betaKeys] = await Promise.all([generateSigningKeyPair(), generateSigningKeyPair()]);
  await using alpha = new CrossBorderClient({ ...server.clientOptions, signingKey: alphaKeys.privateKey });
  await using beta = new CrossBorderClient({ ...server.clientOptions, signingKey: betaKeys.privateKey });
  await onboard(narrator, server, alpha, beta, alphaKeys, betaKeys);

  narrator.chapter("A liquidity provider: a signed deposit, and an exchange rate");
  await provideLiquidity(narrator, beta);

  narrator.chapter("A payment in two steps");
  const payment = await payOnce(narrator, alpha);

  narrator.chapter("The record, and its signature checked offline");
  await verify(narrator, payment, alphaKeys);

  narrator.chapter("What can go wrong: a payment signed with another gateway's key");
  await refuseForeignKey(narrator, beta);

  narrator.chapter(`Paging through ${paymentsInAll} payments`);
  await pageThrough(narrator, alpha, server);

  narrator.chapter("Quote, confirm, and a crash in between: nothing is paid twice");
  await surviveCrash({ narrator, server, wire, order, signingKey: alphaKeys.privateKey });
}

async function onboard(
  narrator: Narrator,
  server: SandboxServer,
  alpha: CrossBorderClient,
  beta: CrossBorderClient,
  alphaKeys: SigningKeyPair,
  betaKeys: SigningKeyPair,
): Promise<void> {
  const [first, second] = await Promise.all([
    alpha.paymentGateways.create({
      institutionId: "alpha-bank",
      name: "Alpha Bank",
      countryCode: "DE",
      currency: "EUR",
      rsaPublicKeyBase64: alphaKeys.publicKeyBase64,
    }),
    beta.paymentGateways.create({
      institutionId: "beta-mobile",
      name: "Beta Mobile Money",
      countryCode: "KE",
      currency: "KES",
      rsaPublicKeyBase64: betaKeys.publicKeyBase64,
    }),
  ]);
  server.sandbox.accounts.add({ gatewayId: "alpha-bank", account: order.senderAccount, name: "Ada Sender" });
  server.sandbox.accounts.add({ gatewayId: "beta-mobile", account: order.receiverAccount, name: "Baraka Receiver" });
  narrator.table({
    [first.name]: `${first.institutionId}, ${first.currency}, id ${first.id}`,
    [second.name]: `${second.institutionId}, ${second.currency}, id ${second.id}`,
  });
  const stored = await alpha.paymentGateways.get(first.id);
  narrator.check(
    stored.rsaPublicKeyBase64 === alphaKeys.publicKeyBase64,
    "the service holds Alpha's public key as it was given",
  );
}

async function provideLiquidity(narrator: Narrator, beta: CrossBorderClient): Promise<void> {
  const provider = await beta.liquidityProviders.create({
    firstName: "Lina",
    lastName: "Quid",
    email: "lina@example.com",
  });
  const deposit = await beta.liquidityProviders.deposits(provider.id).create({
    paymentGatewayId: "beta-mobile",
    paymentGatewayTransactionId: "BETA-DEP-1",
    amount: "5000000.00",
    currency: "KES",
  });
  const rate = await beta.liquidityProviders.exchangeRates(provider.id).create({
    baseGatewayId: "alpha-bank",
    counterGatewayId: "beta-mobile",
    baseCurrency: "EUR",
    counterCurrency: "KES",
    buyPrice: "151.20",
    sellPrice: "149.85",
  });
  narrator.table({
    deposit: `${deposit.amount} ${deposit.currency}, blockchain ${shorten(deposit.blockchainTransactionId)}`,
    "exchange rate": `1 EUR: buys at ${rate.buyPrice}, sells at ${rate.sellPrice} KES`,
  });
  narrator.check(await verifyDepositRecord(deposit), "the deposit's stored signature is valid");
}

async function payOnce(narrator: Narrator, alpha: CrossBorderClient): Promise<Payment> {
  const outcome = await alpha.pay(order, (intent) => {
    narrator.say("The intent came back; the sender is shown:");
    narrator.table({
      "to be paid": `${intent.senderAmount} ${intent.senderCurrency} by ${intent.senderName}`,
      "to arrive": `${intent.receiverAmount} ${intent.receiverCurrency} for ${intent.receiverName}`,
      fee: `${intent.receivingGatewayFee} ${intent.receiverCurrency} at the receiving gateway`,
      rate: `${exchangeRate(intent, { scale: 8 })} (sender / receiver amount)`,
      "exact rate": `${exactExchangeRate(intent, { scale: 8 })} (fee in the divisor)`,
    });
    narrator.check(
      intent.senderName === "Ada Sender" && intent.receiverName === "Baraka Receiver",
      "both names are verified",
    );
    // (15000.00 + 25.50) KES / 149.85, rounded up to cents.
    narrator.check(intent.senderAmount === "100.28", "the sender amount is what the exchange rate makes of it");
    narrator.say("The sender agrees. The money is taken: transaction ALPHA-TX-1.");
    return { senderGatewayTransactionId: "ALPHA-TX-1" };
  });
  if (outcome.status !== "paid") throw new Error("the sender agreed, and yet the payment was not made");
  const { payment } = outcome;
  narrator.say("The signed payment was created:");
  narrator.table({
    payment: payment.id,
    created: payment.createdAt,
    "sender's status": payment.senderGatewayStatus,
    "receiver's status": payment.receiverGatewayStatus,
    blockchain: shorten(payment.blockchainTransactionId),
  });
  narrator.check(
    payment.senderGatewayStatus === "processed" && payment.receiverGatewayStatus === "pending",
    "sender processed, receiver pending: as described",
  );
  narrator.check(
    payment.senderGatewayTransactionId === "ALPHA-TX-1",
    "the payment carries the gateway's own transaction id",
  );
  return payment;
}

async function verify(narrator: Narrator, payment: Payment, keys: SigningKeyPair): Promise<void> {
  narrator.table({
    path: payment.creationRequestUrl,
    body: `${Buffer.byteLength(payment.creationRequestBody)} bytes`,
    signature: shorten(payment.creationRequestSignatureBase64),
  });
  narrator.check(
    await verifyPaymentRecord(payment, { publicKey: keys.publicKey }),
    "verifyPaymentRecord: path, body, signature and Alpha's key fit together",
  );
  narrator.check(
    !(await verifyPaymentRecord({ ...payment, receiverAmount: "99999.00" }, { publicKey: keys.publicKey })),
    "and a record whose amount was changed afterwards does not pass",
  );
  const verdict = verifyWithOpenssl(payment);
  if (verdict === undefined) narrator.say("(There is no openssl command here to ask for a second opinion.)");
  else narrator.check(verdict === "Verified OK", `openssl dgst -sha256 -verify says: ${verdict}`);
}

async function refuseForeignKey(narrator: Narrator, beta: CrossBorderClient): Promise<void> {
  try {
    // Beta's client signs with Beta's key, but Alpha is the sender.
    await beta.pay(order, () => ({ senderGatewayTransactionId: "ALPHA-TX-2" }));
    narrator.check(false, "the service refuses it");
  } catch (error) {
    if (!(error instanceof BadRequestError)) throw error;
    narrator.say(error.message);
    narrator.check(
      error.effect === "none",
      `effect "none": nothing was paid, and the money of ${error.funds?.senderGatewayTransactionId} can go back`,
    );
  }
}

async function pageThrough(narrator: Narrator, alpha: CrossBorderClient, server: SandboxServer): Promise<void> {
  const began = performance.now();
  const already = server.sandbox.payments.length;
  let next = already;
  const worker = async () => {
    while (next < paymentsInAll) {
      const number = ++next;
      await alpha.pay({ ...order, memo: `payment ${number}` }, () => ({
        senderGatewayTransactionId: `ALPHA-BULK-${number}`,
      }));
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  const seconds = (performance.now() - began) / 1000;
  narrator.say(`${paymentsInAll - already} more payments were made, 8 at a time, in ${seconds.toFixed(1)} s.`);

  const sizes: number[] = [];
  const ids = new Set<string>();
  // The sandbox returns at most 100 records a page, however many are asked for.
  for await (const page of alpha.payments.list({ size: 1000 }).pages()) {
    sizes.push(page.items.length);
    for (const payment of page.items) ids.add(payment.id);
  }
  narrator.check(
    ids.size === paymentsInAll,
    `every one of ${ids.size} payments came once, in pages of ${sizes.join(", ")}`,
  );
  const newest = await alpha.payments.list({ size: 3, sort: "createdAt.desc" });
  narrator.check(newest.items.length === 3, "the newest three, by createdAt.desc:");
  narrator.table(Object.fromEntries(newest.items.map(({ createdAt, memo }) => [createdAt, memo])));
  const { tokenRequests } = server.sandbox;
  narrator.check(
    tokenRequests.length === 2,
    `${server.sandbox.requests.length} requests, and one token request for each of the two clients`,
  );
}

process.exitCode = await main();
