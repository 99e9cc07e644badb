import crypto, { createVerify } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { ConfigError, paymentFromIntent } from "../../../src/index.js";
import type { ConsoleState } from "../../../src/sandbox/console/console-state.js";
import { startSandbox } from "../../../src/sandbox/index.js";
import { consolePageModule, consolePagePath } from "../../../tools/console/console-page-text.js";
import { keyPairOf } from "../../support/key-pairs.js";
import { intentRequest, keysOf, signatureOf } from "../sandbox-fixture.js";
import { bearerSecret, type ConsoleFixture, openConsole } from "./console-fixture.js";

const basePath = "/gateway/v1";

async function makeIntent({ act }: ConsoleFixture, fields: object = {}): Promise<string> {
  const { status, told } = await act("intent", { ...intentRequest, ...fields });
  expect({ status, told }).toMatchObject({ status: 200, told: { status: 200 } });
  return (told.intent as { readonly id: string }).id;
}

const order = { of: "operations", times: "1", delaySeconds: "5" };

it("holds the page that its files make: npm run console:page", async () => {
  expect(readFileSync(consolePagePath, "utf8")).toBe(await consolePageModule());
});

it("shows what is stored and what was asked for", async () => {
  await using fixture = await openConsole();
  const { client, server, state } = fixture;
  const intent = await client.paymentIntents.create(intentRequest);
  const payment = await client.payments.create(paymentFromIntent(intent, "T-1"));
  const shown = await state();
  expect(shown.service.baseUrl).toBe(server.baseUrl);
  expect(shown.gateways).toMatchObject({
    total: 2,
    lines: [
      { institutionId: "bravo", canSign: false },
      { institutionId: "alfa", canSign: true },
    ],
  });
  expect(shown.providers.lines).toMatchObject([{ name: "Lia Quid" }]);
  expect(shown.rates.lines).toMatchObject([{ base: "EUR at alfa", counter: "USD at bravo", provider: "Lia Quid" }]);
  expect(shown.intents.lines).toMatchObject([{ id: intent.id, senderAmount: "100.00 EUR", senderName: "Ada Sender" }]);
  expect(shown.payments.lines).toMatchObject([{ id: payment.id, receiverStatus: "pending" }]);
  expect(shown.tokens.map(({ user, kind, fate }) => [user, kind, fate])).toEqual([
    ["gateway", "refresh", "valid"],
    ["gateway", "access", "valid"],
  ]);
  const requests = server.sandbox.requests.map(({ method, path, status }) => ({ method, path, status }));
  expect(shown.requests.map(({ method, path, status }) => ({ method, path, status })).reverse()).toEqual(requests);
  expect(shown.requests.map(({ signature }) => signature.verdict)).toEqual(["valid", ...Array(6).fill("unasked")]);
});

it("reads the keys of gateways with the first look, and one that was replaced with the next", async () => {
  await using fixture = await openConsole();
  const { client, server, state } = fixture;
  const keysRead = vi.spyOn(crypto, "createPublicKey");
  onTestFinished(() => keysRead.mockRestore());
  const readBy = async (look: () => Promise<ConsoleState>) => {
    keysRead.mockClear();
    const { gateways } = await look();
    return { fingerprints: gateways.lines.map(({ fingerprint }) => fingerprint), read: keysRead.mock.calls.length };
  };
  const first = await readBy(state);
  expect(first).toEqual({ fingerprints: [expect.stringMatching(/^[0-9a-f]{64}$/), expect.any(String)], read: 2 });
  expect(await readBy(state)).toEqual({ ...first, read: 0 });

  const [alfa] = server.sandbox.ledger.paymentGateways;
  const { publicKeyBase64: rsaPublicKeyBase64 } = keysOf("third");
  await client.paymentGateways.update(alfa?.id ?? "", { rsaPublicKeyBase64 });
  const third = await readBy(state);
  expect(third.read).toBe(1);
  expect(third.fingerprints).toEqual([first.fingerprints[0], expect.not.stringMatching(`${first.fingerprints[1]}`)]);
});

it("shows no secret", async () => {
  const credentials = { clientSecret: "a-client-secret", password: "a-password" };
  await using fixture = await openConsole({ credentials });
  const { client, givenTokens, state, act, server } = fixture;
  await makeIntent(fixture);
  await client.paymentGateways.list({
    filter: { accountVerificationBearerToken: bearerSecret, institutionId: "alfa" },
  });
  await fetch(`${server.url}/elsewhere?access_token=${givenTokens[0]}`);
  expect((await state()).requests[0]).toMatchObject({ path: "/elsewhere", query: "", status: 404 });
  const form = new URLSearchParams({ grant_type: "password", ...credentials });
  for (const path of ["/payments", "/payment-intents", "/payment-gateways"]) {
    for (const query of ["", `?access_token=${givenTokens[0]}&_size=3`, `?password=a-password&p%61ss=a-password`]) {
      await fetch(server.baseUrl + path + query);
      await fetch(server.baseUrl + path + query, { method: "POST", body: form });
      const body = JSON.stringify({ password: "a-password", memo: { token: givenTokens[1] } });
      await fetch(server.baseUrl + path + query, { method: "POST", body });
    }
  }
  await act("key", { gatewayId: "bravo" });
  const text = JSON.stringify(await state());
  expect(givenTokens).toHaveLength(2);
  for (const secret of [...givenTokens, ...Object.values(credentials), bearerSecret, "PRIVATE KEY"]) {
    expect(text).not.toContain(secret);
  }
  expect(text).toContain("institutionId=alfa");
  expect(text).toContain("access_token=…&_size=3");
});

it("makes a payment that is signed with a key that it was given", async () => {
  await using fixture = await openConsole();
  const { act, server, alfa, state } = fixture;
  const intentId = await makeIntent(fixture);
  const { told } = await act("payment", { intentId, transactionId: "T-7" });
  const [payment] = server.sandbox.payments;
  expect(told).toMatchObject({ status: 200, body: { id: payment?.id } });
  expect(payment).toMatchObject({ senderGatewayTransactionId: "T-7", senderAmount: "100.00", receiverName: "" });
  const { creationRequestUrl, creationRequestBody, creationRequestSignatureBase64 } = payment ?? {};
  const signed = createVerify("RSA-SHA256").update(`${creationRequestUrl}${creationRequestBody}`);
  const publicKey = Buffer.from(alfa.publicKeyBase64, "base64").toString();
  expect(signed.verify(publicKey, creationRequestSignatureBase64 ?? "", "base64")).toBe(true);
  expect((await state()).requests[0]).toMatchObject({ operation: "payments.create", isOwn: true, status: 200 });
});

it("makes a key for a gateway whose key it has not, and only when it is told to", async () => {
  await using fixture = await openConsole();
  const { act, server, bravo, state } = fixture;
  const registered = () => server.sandbox.ledger.paymentGateways[1]?.rsaPublicKeyBase64;
  const intentId = await makeIntent(fixture, {
    ...{ senderGatewayId: "bravo", receiverGatewayId: "alfa", senderCurrency: "USD", receiverCurrency: "EUR" },
  });
  const refused = await act("payment", { intentId, transactionId: "T-1" });
  expect(refused).toMatchObject({ status: 409, told: { error: "no_signing_key" } });
  expect(registered()).toBe(bravo.publicKeyBase64);

  expect(await act("key", { gatewayId: "bravo" })).toMatchObject({ told: { status: 200 } });
  expect(registered()).not.toBe(bravo.publicKeyBase64);
  expect((await state()).gateways.lines[0]).toMatchObject({ institutionId: "bravo", canSign: true });
  expect(await act("payment", { intentId, transactionId: "T-1" })).toMatchObject({ told: { status: 200 } });
  expect(server.sandbox.payments).toHaveLength(1);
});

it("hands on the service's refusals", async () => {
  await using fixture = await openConsole();
  const { act } = fixture;
  const noAmount = await act("intent", { ...intentRequest, receiverAmount: "much" });
  expect(noAmount).toMatchObject({ status: 200, told: { status: 400, body: { error: "invalid_value" } } });
  expect(noAmount.told).not.toHaveProperty("intent");
  expect(await act("intent", { ...intentRequest, senderGatewayId: "nobody" })).toMatchObject({ status: 400 });
  expect(await act("payment", { intentId: "none", transactionId: "T" })).toMatchObject({ status: 400 });
});

it("logs in anew when its token was revoked", async () => {
  await using fixture = await openConsole();
  await makeIntent(fixture);
  expect(await fixture.act("revoke-tokens", { which: "all" })).toMatchObject({ status: 200 });
  expect((await fixture.state()).tokens.map(({ fate }) => fate)).toEqual(Array(4).fill("revoked"));
  await makeIntent(fixture);
  expect(fixture.server.sandbox.ledger.paymentIntents).toHaveLength(2);
});

it("loses a response after the payment was made, once", async () => {
  await using fixture = await openConsole();
  const { client, act, server, state } = fixture;
  const payment = paymentFromIntent(await client.paymentIntents.create(intentRequest), "T-1");
  await act("fault", { ...order, kind: "lost", of: "payments.create" });
  expect((await state()).faults).toMatchObject([{ kind: "lost", of: "payments.create", times: 1 }]);
  // Hits no other operation.
  await client.payments.list();
  await expect(client.payments.create(payment)).rejects.toMatchObject({ name: "OutcomeUnknownError" });
  expect(server.sandbox.payments).toHaveLength(1);
  expect((await state()).requests[0]).toMatchObject({ status: 0, fault: "lost", signature: { verdict: "valid" } });
  expect((await state()).faults).toEqual([]);
  await client.payments.create(payment);
  expect(server.sandbox.payments).toHaveLength(2);
});

it("answers with 503 and does nothing, as often as it was told", async () => {
  await using fixture = await openConsole();
  const { client, act, server } = fixture;
  await act("fault", { ...order, kind: "unavailable", times: "2" });
  for (let time = 0; time < 2; time += 1) {
    await expect(client.paymentIntents.create(intentRequest)).rejects.toMatchObject({ status: 503 });
  }
  expect(server.sandbox.ledger.paymentIntents).toEqual([]);
  await client.paymentIntents.create(intentRequest);
  expect(server.sandbox.ledger.paymentIntents).toHaveLength(1);
});

it("delays a response whose work is done", async () => {
  let doneAtMs = Number.NaN;
  await using fixture = await openConsole({
    onResponse: ({ operation }) => {
      if (operation === "paymentIntents.create") doneAtMs = performance.now();
      return undefined;
    },
  });
  const { client, act } = fixture;
  await act("fault", { ...order, kind: "delay", delaySeconds: "0.3" });
  await client.paymentIntents.create(intentRequest);
  expect(performance.now() - doneAtMs).toBeGreaterThan(299);
});

it("hits token requests where it was told to, and forgets a fault that was cancelled", async () => {
  await using fixture = await openConsole();
  const { act, state } = fixture;
  await act("fault", { ...order, kind: "lost" });
  await act("fault", { ...order, kind: "unavailable", of: "token" });
  const [lost] = (await state()).faults;
  await act("cancel-fault", { id: lost?.id });
  await act("revoke-tokens", { which: "all" });
  const { told } = await act("intent", intentRequest);
  expect(told).toMatchObject({ error: "no_token" });
  expect((await state()).faults).toEqual([]);
  await makeIntent(fixture);
});

it("moves the receiver's status", async () => {
  await using fixture = await openConsole();
  const { act, server } = fixture;
  await act("payment", { intentId: await makeIntent(fixture), transactionId: "T-1" });
  const paymentId = server.sandbox.payments[0]?.id;
  expect(await act("receiver-status", { paymentId, status: "reverted" })).toMatchObject({ status: 200 });
  expect(server.sandbox.payments[0]?.receiverGatewayStatus).toBe("reverted");
  for (const fields of [{ paymentId, status: "done" }, { paymentId: "none", status: "error" }, {}]) {
    expect(await act("receiver-status", fields)).toMatchObject({ status: 400 });
  }
  expect(server.sandbox.payments[0]?.receiverGatewayStatus).toBe("reverted");
});

it("tells why a signature is wrong, and of any what it is", async () => {
  await using fixture = await openConsole();
  const { client, server, givenTokens, alfa, bravo, state } = fixture;
  const payment = paymentFromIntent(await client.paymentIntents.create(intentRequest), "T-1");
  const body = JSON.stringify(payment);
  const path = `${basePath}/payments`;
  const send = async (signature: string | undefined, sent = body) => {
    const headers = {
      authorization: `Bearer ${givenTokens[0]}`,
      "content-type": "application/json",
      ...(signature === undefined ? {} : { "x-service-signature-base64": signature }),
    };
    await fetch(server.url + path, { method: "POST", headers, body: sent });
    // One look explains; the reasons are there in the next one at the latest.
    const signatures = [await state(), await state()].map(({ requests }) => requests[0]?.signature);
    return signatures[1];
  };
  const finding = (aspect: string, problem: RegExp) => ({ aspect, problem: expect.stringMatching(problem) });

  expect(await send(signatureOf(path + body, alfa))).toEqual({ verdict: "valid", signer: "alfa" });
  expect(await send(undefined)).toEqual({ verdict: "missing", signer: "alfa" });
  expect(await send(signatureOf(`/payments${body}`, alfa))).toMatchObject({
    verdict: "wrong",
    signer: "alfa",
    findings: [finding("path", /no base path \(\/gateway\/v1\)/)],
  });
  expect(await send(signatureOf(`${path}${body}\n`, alfa))).toMatchObject({ findings: [finding("body", /newline/)] });
  expect(await send(signatureOf(path + body, bravo))).toMatchObject({ findings: [finding("key", /bravo/)] });
  expect(await send(signatureOf(`${server.url}${path}${body}`, alfa))).toMatchObject({
    findings: [finding("path", /whole address/)],
  });
  const foreign = JSON.stringify({ ...payment, senderGatewayId: "nobody" });
  expect(await send(signatureOf(path + foreign, alfa), foreign)).toMatchObject({ verdict: "unchecked" });
  expect(await send(signatureOf(`${path}{`, alfa), "{")).toMatchObject({ verdict: "unchecked", why: /JSON/ });
  const long = JSON.stringify({ ...payment, memo: "x".repeat(9000) });
  expect(await send(signatureOf(long, alfa), long)).toMatchObject({ verdict: "wrong", why: expect.any(String) });
  expect(server.sandbox.payments).toHaveLength(1);
});

it("says so where what a gateway registered is no key", async () => {
  await using fixture = await openConsole();
  const { server, givenTokens, alfa, state } = fixture;
  const id = server.sandbox.ledger.paymentGateways[0]?.id ?? "";
  const authorization = `Bearer ${givenTokens[0]}`;
  await fetch(`${server.baseUrl}/payment-gateways/${id}`, {
    method: "PUT",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ rsaPublicKeyBase64: "no key" }),
  });
  const body = JSON.stringify({ senderGatewayId: "alfa" });
  await fetch(`${server.baseUrl}/payments`, {
    method: "POST",
    headers: {
      authorization,
      "content-type": "application/json",
      "x-service-signature-base64": signatureOf(`${basePath}/payments${body}`, alfa),
    },
    body,
  });
  const { requests, gateways } = await state();
  expect(requests[0]?.signature).toMatchObject({ verdict: "unchecked", why: expect.stringMatching(/alfa.*no public/) });
  expect(gateways.lines[1]).toMatchObject({ fingerprint: "", canSign: false });
});

it("lets the sandbox's own hooks do what they did", async () => {
  await using fixture = await openConsole({
    onRequest: ({ operation }) => {
      if (operation === "payments.list") throw new Error("a bug");
      return operation === "paymentIntents.create"
        ? Response.json({ error: "nope", message: "no" }, { status: 418 })
        : undefined;
    },
  });
  const { client, state } = fixture;
  await expect(client.paymentIntents.create(intentRequest)).rejects.toMatchObject({ status: 418 });
  await expect.poll(async () => (await state()).requests[0]).toMatchObject({ status: 418, error: "nope: no" });
  await expect(client.payments.list()).rejects.toMatchObject({ status: 500 });
  expect((await state()).requests[0]).toMatchObject({ status: 500, error: expect.stringContaining("hook") });
});

it("sends the state only where it has changed, and keeps the newest requests", async () => {
  await using fixture = await openConsole();
  const { server, state } = fixture;
  const address = `${server.consoleUrl}state`;
  const etag = (await fetch(address)).headers.get("etag") ?? "";
  expect(etag).not.toBe("");
  expect((await fetch(address, { headers: { "if-none-match": etag } })).status).toBe(304);
  for (let number = 0; number < 250; number += 1) await fetch(`${server.url}/nowhere/${number}`);
  expect((await fetch(address, { headers: { "if-none-match": etag } })).status).toBe(200);
  const { requests } = await state();
  expect(requests).toHaveLength(200);
  expect(requests[0]?.path).toBe("/nowhere/249");
});

it.each([
  ["another origin", { origin: "http://attacker.test" }],
  ["another port", { origin: "http://127.0.0.1:1" }],
  ["an opaque origin", { origin: "null" }],
  ["another site", { "sec-fetch-site": "cross-site" }],
  ["another port of the same site", { "sec-fetch-site": "same-site" }],
  ["no header of its own", { "x-sandbox-console": undefined }],
  ["a form", { "content-type": "text/plain" }],
])("does nothing for a page of %s", async (_, more) => {
  await using fixture = await openConsole();
  const { server, state } = fixture;
  const { origin } = new URL(server.url);
  const own = { origin, "sec-fetch-site": "same-origin", "content-type": "application/json", "x-sandbox-console": "1" };
  const post = async (wanted: Readonly<Record<string, string | undefined>>) => {
    const headers = Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    const body = JSON.stringify({ ...order, kind: "lost" });
    const response = await fetch(`${server.consoleUrl}fault`, {
      method: "POST",
      headers: Object.fromEntries(headers),
      body,
    });
    return response.status;
  };
  expect(await post({ ...own, ...more })).toBeGreaterThanOrEqual(400);
  expect((await state()).faults).toEqual([]);
  expect(await post(own)).toBe(200);
  expect((await state()).faults).toHaveLength(1);
});

it("takes no order that makes no sense", async () => {
  await using fixture = await openConsole();
  const { act, state } = fixture;
  const wrong = [
    { kind: "burn" },
    { kind: "lost", of: "nothing" },
    { kind: "lost", times: "0" },
    { kind: "delay", delaySeconds: "soon" },
    { kind: "delay", delaySeconds: 5 },
  ];
  for (const fields of wrong) expect(await act("fault", { ...order, ...fields })).toMatchObject({ status: 400 });
  expect(await act("revoke-tokens", { which: "some" })).toMatchObject({ status: 400 });
  expect(await act("no-such-button", {})).toMatchObject({ status: 404 });
  expect((await state()).faults).toEqual([]);
});

it("refuses a signing key that is none, before anything listens", async () => {
  const { publicKey } = keyPairOf("gateway");
  const { publicKeyBase64 } = keysOf("gateway");
  for (const key of ["", publicKeyBase64, publicKey]) {
    await expect(startSandbox({ console: { signingKeys: [key] } })).rejects.toThrow(ConfigError);
  }
});
