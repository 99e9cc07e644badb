import { createVerify } from "node:crypto";
import { expect, it } from "vitest";
import { ConfigError, paymentFromIntent } from "../../../src/index.js";
import { type SandboxServerOptions, startSandbox } from "../../../src/sandbox/index.js";
import { keyPairOf } from "../../support/key-pairs.js";
import { intentRequest, keysOf, signatureOf } from "../sandbox-fixture.js";
import { bearerSecret, type ConsoleFixture, openConsole, send } from "./console-fixture.js";

const basePath = "/gateway/v1";
const fault = { kind: "lost", of: "any", delaySeconds: "0" };

async function makeIntent({ press }: ConsoleFixture): Promise<string> {
  const { url, text } = await press("pay", intentRequest);
  const [, id] = /pay\/([\w-]+)$/.exec(url) ?? [];
  if (id === undefined) throw new Error(text);
  return id;
}

it("shows requests and records", async () => {
  await using fixture = await openConsole();
  const { client, server, read } = fixture;
  const intent = await client.paymentIntents.create(intentRequest);
  const payment = await client.payments.create(paymentFromIntent(intent, "T-1"));
  const requests = await read();
  expect(requests).toContain(server.baseUrl);
  expect(requests).toMatch(/POST \/gateway\/v1\/payments payments\.create 200 [\d.]+ ms valid/);
  expect(requests.match(/ 200 /g)).toHaveLength(7);
  const payments = await read("payments");
  for (const shown of [payment.id, "100.00 EUR", "Ada Sender A-1 at alfa", "pending"])
    expect(payments).toContain(shown);
  const records = await read("records");
  for (const shown of ["alfa", "Lia Quid", "EUR alfa USD bravo 1.10 1.00", intent.id]) expect(records).toContain(shown);
});

it.each([
  ["status=4", ["/nowhere"]],
  ["status=2&operation=paymentGateways.create", ["/gateway/v1/payment-gateways", "/gateway/v1/payment-gateways"]],
  ["operation=payments.create", []],
])("filters requests by %s", async (query, paths) => {
  await using fixture = await openConsole();
  await fetch(`${fixture.server.url}/nowhere`);
  await makeIntent(fixture);
  const text = await fixture.read(`?${query}`);
  expect(text.match(/(?<=(?:GET|POST|PUT) )\/\S+/g) ?? []).toEqual(paths);
});

it("shows a request and its response, with a command that repeats it", async () => {
  await using fixture = await openConsole();
  const { client, readNewest, server } = fixture;
  await client.paymentIntents.create({ ...intentRequest, memo: "Ada's rent" });
  const text = await readNewest();
  expect(text).toContain("authorization: Bearer …");
  expect(text).toContain('"memo": "Ada\'s rent"');
  expect(text).toContain('"senderAmount": "100.00"');
  expect(text).toContain(`curl -X POST '${server.baseUrl}/payment-intents'`);
  expect(text).toContain('-H "authorization: Bearer $TOKEN"');
  expect(text).toContain("Ada'\\''s rent");
});

it("replays an operation with a token of its own, and clears the log", async () => {
  await using fixture = await openConsole();
  const { client, press, read, server } = fixture;
  const intent = await client.paymentIntents.create(intentRequest);
  await client.payments.create(paymentFromIntent(intent, "T-1"));
  server.sandbox.revokeTokens("all");
  const [, id = ""] = /requests\/(\d+)/.exec(await (await fetch(server.consoleUrl ?? "")).text()) ?? [];
  const { text } = await press(`requests/${id}/replay`);
  expect(text).toContain("Operation payments.create Status 200");
  expect(server.sandbox.payments).toHaveLength(2);
  // A login isn't replayed: its body isn't shown.
  const logins = server.sandbox.tokenRequests.length;
  expect(await press("requests/1/replay")).toMatchObject({ status: 400 });
  expect(server.sandbox.tokenRequests).toHaveLength(logins);
  await press("requests/clear");
  expect(await read()).toContain("No requests.");
  expect(await press(`requests/${id}/replay`)).toMatchObject({ status: 400 });
});

it("shows no secret", async () => {
  const credentials = { clientSecret: "a-client-secret", password: "a-password" };
  await using fixture = await openConsole({ credentials });
  const { client, givenTokens, read, server } = fixture;
  const [token = ""] = givenTokens;
  await client.paymentGateways.list({
    filter: { accountVerificationBearerToken: bearerSecret, institutionId: "alfa" },
  });
  await fetch(`${server.url}/elsewhere?access_token=${token}`, { headers: { cookie: `session=${token}` } });
  const form = new URLSearchParams({ grant_type: "password", ...credentials });
  for (const path of ["/payments", "/payment-gateways"]) {
    for (const query of ["", `?access_token=${token}&_size=3`, "?password=a-password&p%61ss=a-password"]) {
      await fetch(server.baseUrl + path + query);
      await fetch(server.baseUrl + path + query, { method: "POST", body: form });
      const body = JSON.stringify({ password: "a-password", memo: { token: givenTokens[1] } });
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      await fetch(server.baseUrl + path + query, { method: "POST", body, headers });
    }
  }
  await makeIntent(fixture);
  const list = await (await fetch(server.consoleUrl ?? "")).text();
  const details = [...list.matchAll(/"\/console\/(requests\/\d+)"/g)].map(([, path]) => read(path));
  const shown = [await read(), await read("records"), await read("faults"), ...(await Promise.all(details))].join("\n");
  expect(details.length).toBeGreaterThan(20);
  expect(givenTokens).toHaveLength(2);
  for (const secret of [...givenTokens, ...Object.values(credentials), bearerSecret, "PRIVATE KEY"]) {
    expect(shown).not.toContain(secret);
  }
  expect(shown).toContain("institutionId=alfa");
  expect(shown).toContain("access_token=…&_size=3");
  expect(shown).toContain("grant_type=password");
});

it("makes a payment in two steps, signed with a key that it was given", async () => {
  await using fixture = await openConsole();
  const { press, read, server, alfa } = fixture;
  const intentId = await makeIntent(fixture);
  expect(server.sandbox.payments).toEqual([]);
  expect(await read(`pay/${intentId}`)).toContain("Sender pays 100.00 EUR Sender Ada Sender A-1 at alfa");
  const { text } = await press(`pay/${intentId}`, { transactionId: "T-7" });
  const [payment] = server.sandbox.payments;
  expect(text).toContain(`"id": "${payment?.id}"`);
  expect(payment).toMatchObject({ senderGatewayTransactionId: "T-7", senderAmount: "100.00", receiverName: "" });
  const { creationRequestUrl, creationRequestBody, creationRequestSignatureBase64 } = payment ?? {};
  const signed = createVerify("RSA-SHA256").update(`${creationRequestUrl}${creationRequestBody}`);
  const publicKey = Buffer.from(alfa.publicKeyBase64, "base64").toString();
  expect(signed.verify(publicKey, creationRequestSignatureBase64 ?? "", "base64")).toBe(true);
});

it("shows refusals, and signs for no gateway whose key it doesn't have", async () => {
  await using fixture = await openConsole();
  const { press, client, server } = fixture;
  const refused = await press("pay", { ...intentRequest, receiverAmount: "much" });
  expect(refused.text).toMatch(/Status 400 .* "error": "invalid_value"/);
  const reversed = {
    senderGatewayId: "bravo",
    receiverGatewayId: "alfa",
    senderCurrency: "USD",
    receiverCurrency: "EUR",
  };
  const { id } = await client.paymentIntents.create({ ...intentRequest, ...reversed });
  for (const [path, fields] of [
    [`pay/${id}`, { transactionId: "T" }],
    ["pay/none", { transactionId: "T" }],
    ["payments/none/status", { status: "error" }],
  ] as const) {
    expect(await press(path, fields), path).toMatchObject({ status: 400 });
  }
  expect(server.sandbox.payments).toEqual([]);
});

it("loses a response after the payment was made, once", async () => {
  await using fixture = await openConsole();
  const { client, press, server, read } = fixture;
  const payment = paymentFromIntent(await client.paymentIntents.create(intentRequest), "T-1");
  const armed = "Fault armed: the next request of payments.create will lose its response.";
  expect((await press("faults", { ...fault, of: "payments.create" })).text).toContain(armed);
  // It hits no other operation.
  await client.payments.list();
  await expect(client.payments.create(payment)).rejects.toMatchObject({ name: "OutcomeUnknownError" });
  expect(server.sandbox.payments).toHaveLength(1);
  const requests = await read();
  expect(requests).toMatch(/payments\.create lost .* valid response lost/);
  expect(requests).not.toContain("Fault armed");
  await client.payments.create(payment);
});

it("responds with 503 and does nothing", async () => {
  await using fixture = await openConsole();
  const { client, press, server } = fixture;
  await press("faults", { ...fault, kind: "unavailable" });
  await expect(client.paymentIntents.create(intentRequest)).rejects.toMatchObject({ status: 503 });
  expect(server.sandbox.ledger.paymentIntents).toEqual([]);
  await client.paymentIntents.create(intentRequest);
});

it("delays a response whose work is done", async () => {
  let doneAtMs = Number.NaN;
  const onResponse: SandboxServerOptions["onResponse"] = ({ operation }) => {
    if (operation === "paymentIntents.create") doneAtMs = performance.now();
    return undefined;
  };
  await using fixture = await openConsole({ onResponse });
  await fixture.press("faults", { ...fault, kind: "delay", delaySeconds: "0.3" });
  await fixture.client.paymentIntents.create(intentRequest);
  expect(performance.now() - doneAtMs).toBeGreaterThan(299);
});

it("hits a token request, and forgets a fault that was canceled", async () => {
  await using fixture = await openConsole();
  const { press } = fixture;
  await press("faults", fault);
  await press("faults", { ...fault, kind: "unavailable", of: "token" });
  expect((await press("faults/0/cancel")).text).not.toContain("Fault armed: the next request will lose");
  const { text } = await press("pay", intentRequest);
  expect(text).toContain("Operation paymentIntents.create Status 401");
  expect(text).not.toContain("Fault armed");
  await makeIntent(fixture);
});

it.each([{ kind: "burn" }, { of: "nothing" }, { delaySeconds: "-1" }, { delaySeconds: "soon" }])(
  "doesn't arm the fault %j",
  async (fields) => {
    await using fixture = await openConsole();
    expect(await fixture.press("faults", { ...fault, ...fields })).toMatchObject({ status: 400 });
    expect(await fixture.read("faults")).toContain("No fault is armed.");
  },
);

it("changes the receiver's status, and revokes tokens", async () => {
  await using fixture = await openConsole();
  const { press, server, client } = fixture;
  await press(`pay/${await makeIntent(fixture)}`, { transactionId: "T-1" });
  const id = server.sandbox.payments[0]?.id;
  await press(`payments/${id}/status`, { status: "reverted" });
  expect(server.sandbox.payments[0]?.receiverGatewayStatus).toBe("reverted");
  expect(await press(`payments/${id}/status`, { status: "done" })).toMatchObject({ status: 400 });
  await press("revoke", { which: "all" });
  await expect(client.payments.list()).rejects.toMatchObject({ status: 401 });
});

it("explains why a signature is wrong", async () => {
  await using fixture = await openConsole();
  const { client, server, givenTokens, alfa, bravo, readNewest } = fixture;
  const payment = paymentFromIntent(await client.paymentIntents.create(intentRequest), "T-1");
  const body = JSON.stringify(payment);
  const path = `${basePath}/payments`;
  const noted = async (signature: string | undefined, sent = body) => {
    const signed = signature === undefined ? {} : { "x-service-signature-base64": signature };
    const headers = { authorization: `Bearer ${givenTokens[0]}`, "content-type": "application/json", ...signed };
    await fetch(server.url + path, { method: "POST", headers, body: sent });
    return readNewest();
  };
  expect(await noted(signatureOf(path + body, alfa))).toContain("Signature valid");
  expect(await noted(undefined)).toContain("Signature missing");
  expect(await noted(signatureOf(`/payments${body}`, alfa))).toMatch(/path: .*no base path \(\/gateway\/v1\)/);
  expect(await noted(signatureOf(`${path}${body}\n`, alfa))).toMatch(/body: .*newline/);
  expect(await noted(signatureOf(path + body, bravo))).toMatch(/key: .*bravo/);
  const foreign = JSON.stringify({ ...payment, senderGatewayId: "nobody" });
  expect(await noted(signatureOf(path + foreign, alfa), foreign)).toContain("Signature not checked");
  expect(await noted(signatureOf(`${path}{`, alfa), "{")).toMatch(/is not checked the body is not JSON/);
  const long = JSON.stringify({ ...payment, memo: "x".repeat(9000) });
  expect(await noted(signatureOf(long, alfa), long)).toContain("more than 8192 bytes");
  const [gateway] = server.sandbox.ledger.paymentGateways;
  await fetch(`${server.baseUrl}/payment-gateways/${gateway?.id}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${givenTokens[0]}`, "content-type": "application/json" },
    body: JSON.stringify({ rsaPublicKeyBase64: "no key" }),
  });
  expect(await noted(signatureOf(path + body, alfa))).toContain("isn't a public RSA key");
  expect(server.sandbox.payments).toHaveLength(1);
});

it("lets the sandbox's own hooks do what they did", async () => {
  await using fixture = await openConsole({
    onRequest: ({ operation }) => {
      if (operation === "payments.list") throw new Error("a bug");
      const teapot = () => Response.json({ error: "nope", message: "no" }, { status: 418 });
      return operation === "paymentIntents.create" ? teapot() : undefined;
    },
  });
  const { client, readNewest } = fixture;
  await expect(client.paymentIntents.create(intentRequest)).rejects.toMatchObject({ status: 418 });
  await expect.poll(readNewest).toContain('"error": "nope"');
  await expect(client.payments.list()).rejects.toMatchObject({ status: 500 });
  expect(await readNewest()).toContain("A hook of the sandbox threw.");
});

it("keeps the newest 200 requests", async () => {
  await using fixture = await openConsole();
  for (let number = 0; number < 210; number += 1) await fetch(`${fixture.server.url}/nowhere/${number}`);
  const text = await fixture.read();
  expect(text.match(/\/nowhere\/\d+/g)).toHaveLength(200);
  expect(text).toContain("/nowhere/209");
});

it("escapes what it shows, and runs no script but its own", async () => {
  await using fixture = await openConsole();
  await fixture.client.paymentGateways.create({ institutionId: "<img src=x onerror=alert(1)>" });
  const response = await fetch(`${fixture.server.consoleUrl}records`);
  const page = await response.text();
  expect(page).not.toContain("<img");
  expect(page).not.toMatch(/<script(?! src="\/console\/console\.js")|style=/);
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
  expect(policy).not.toContain("unsafe");
  const headers = Object.fromEntries(response.headers);
  expect(headers).toMatchObject({ "x-frame-options": "DENY", "cross-origin-resource-policy": "same-origin" });
  for (const file of ["console.css", "console.js"]) {
    expect((await fetch(fixture.server.consoleUrl + file)).status).toBe(200);
  }
});

it.each([
  ["another origin", { origin: "http://attacker.test" }],
  ["another port", { origin: "http://127.0.0.1:1" }],
  ["an opaque origin", { origin: "null" }],
  ["another site", { origin: "http://attacker.test", "sec-fetch-site": "cross-site" }],
  ["no known origin", {}],
])("does nothing for a page of %s", async (_, headers) => {
  await using fixture = await openConsole();
  const { server, read } = fixture;
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const body = String(new URLSearchParams(fault));
  const { status, headers: told } = await send(`${server.consoleUrl}faults`, { ...form, ...headers }, "POST", body);
  expect(status).toBe(403);
  expect(Object.keys(told).filter((name) => name.startsWith("access-control"))).toEqual([]);
  expect(await read("faults")).toContain("No fault is armed.");
  const own = { ...form, origin: server.url, "sec-fetch-site": "same-origin" };
  expect((await send(`${server.consoleUrl}faults`, own, "POST", body)).status).toBe(303);
});

it("answers to addresses of this machine only", async () => {
  await using server = await startSandbox({ console: true });
  const { port } = new URL(server.url);
  expect(server.consoleUrl).toBe(`${server.url}/console/`);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    for (const path of ["/console", "/console/", "/console/?from=docs"]) {
      expect(await send(server.url + path, { host }), host).toMatchObject({ status: 200 });
    }
  }
  for (const host of ["attacker.test", `attacker.test:${port}`, "127.0.0.1", `127.0.0.1:${Number(port) + 1}`]) {
    for (const path of ["/console", "/console/", "/console/faults"]) {
      expect((await send(server.url + path, { host })).status, `${host} ${path}`).toBe(403);
    }
  }
  // The service itself responds under any name.
  expect(await send(`${server.url}/payments`, { host: "attacker.test" })).toMatchObject({ status: 401 });
});

it("isn't there unless it is asked for", async () => {
  await using server = await startSandbox();
  expect(server).not.toHaveProperty("consoleUrl");
  expect(await send(`${server.url}/console/`)).toMatchObject({ status: 404 });
});

it.each<SandboxServerOptions>([
  ...["0.0.0.0", "::", "192.0.2.7", "127.0.0.1.attacker.test", ""].map((host) => ({ host })),
  ...["", keysOf("gateway").publicKeyBase64, keyPairOf("gateway").publicKey].map((key) => ({
    console: { signingKeys: [key] },
  })),
])("refuses the options %j", async (options) => {
  await expect(startSandbox({ console: true, ...options })).rejects.toThrow(ConfigError);
});
