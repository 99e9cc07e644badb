import { expect, it } from "vitest";
import { ConfigError, CrossBorderClient, paymentFromIntent } from "../../../src/index.js";
import { type SandboxServerOptions, startSandbox } from "../../../src/sandbox/index.js";
import { signingKeysOf } from "../../support/key-pairs.js";
import { intentRequest, login, pair, raw, signatureOf } from "../sandbox-fixture.js";

const bearerSecret = "a-bearer-token-for-verification";
const [alfa, bravo] = [signingKeysOf("gateway"), signingKeysOf("stranger")];

/** A sandbox with a console, the gateways alfa and bravo, and a client of alfa, whose signing key the console has. */
async function openConsole(options: SandboxServerOptions = {}) {
  const signingKeys = [alfa.privateKey];
  const server = await startSandbox({ console: { signingKeys }, basePath: "/gateway/v1", ...options });
  const client = new CrossBorderClient({ ...server.clientOptions, signingKey: alfa.privateKey, maxRetries: 0 });
  for (const [institutionId, currency, { publicKeyBase64: rsaPublicKeyBase64 }] of [
    ["alfa", "EUR", alfa],
    ["bravo", "USD", bravo],
  ] as const) {
    const gateway = { institutionId, currency, rsaPublicKeyBase64 };
    await client.paymentGateways.create({ ...gateway, accountVerificationBearerToken: bearerSecret });
  }
  const { id } = await client.liquidityProviders.create({ firstName: "Lia", lastName: "Quid" });
  await client.liquidityProviders.exchangeRates(id).create({ ...pair, buyPrice: "1.10", sellPrice: "1.00" });
  server.sandbox.accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada Sender" });
  const load = async (path = "") => (await fetch(`${server.consoleUrl}${path}`)).text();
  return {
    ...{ server, client },
    /** Of a login beside the client's. */
    tokens: (await login(server.sandbox)).body,
    /** The text of a page, without its tags. */
    read: async (path?: string) => textOf(await load(path)),
    /** Addresses of the pages about the requests, the newest first. */
    requestPages: async (): Promise<readonly string[]> => (await load()).match(/(?<="\/console\/)requests\/\d+/g) ?? [],
    /** Sends a form of a page, and returns the text of the page that follows. */
    async press(path: string, fields: Readonly<Record<string, string>> = {}) {
      const form = { method: "POST", headers: { origin: server.url }, body: new URLSearchParams(fields) };
      return textOf(await (await fetch(`${server.consoleUrl}${path}`, form)).text());
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

function textOf(page: string): string {
  const text = page.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  return text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const basePath = "/gateway/v1";
const fault = { kind: "lost", of: "any" };

it("shows requests, payments, and records, makes a payment, and sets its status", async () => {
  await using fixture = await openConsole();
  const { press, read, server } = fixture;
  expect(await press("pay", { ...intentRequest, transactionId: "T-1" })).toContain("POST /gateway/v1/payments");
  const [payment] = server.sandbox.payments;
  const { id = "" } = payment ?? {};
  expect(payment).toMatchObject({ senderGatewayTransactionId: "T-1" });
  const requests = await read();
  expect(requests).toContain(server.baseUrl);
  expect(requests).toMatch(/POST \/gateway\/v1\/payments \S+ \S+ payments\.create 200 [\d.]+ ms valid/);
  const payments = await read("payments");
  for (const shown of [id, "100.00 EUR", "Ada Sender A-1 at alfa", "pending"]) expect(payments).toContain(shown);
  const records = await read("records");
  for (const shown of ["Lia Quid", "EUR alfa USD bravo 1.10 1.00"]) expect(records).toContain(shown);
  await press(`payments/${id}/status`, { status: "reverted" });
  expect(server.sandbox.payments[0]?.receiverGatewayStatus).toBe("reverted");
  expect(await press(`payments/${id}/status`, { status: "done" })).toContain("status must be one of");
});

it("shows a request and its response, and repeats it", async () => {
  await using fixture = await openConsole();
  const { client, press, read, requestPages, server } = fixture;
  await client.paymentIntents.create({ ...intentRequest, memo: "Ada's rent" });
  const [path = ""] = await requestPages();
  const text = await read(path);
  for (const shown of [
    ...["authorization: Bearer …", '"memo": "Ada\'s rent"', '"senderAmount": "100.00"'],
    ...[`curl -X POST '${server.baseUrl}/payment-intents'`, "Bearer $TOKEN", "Ada'\\''s rent"],
  ]) {
    expect(text).toContain(shown);
  }
  server.sandbox.revokeTokens("all");
  expect(await press(`${path}/replay`)).toContain("Operation paymentIntents.create Status 200");
  expect(server.sandbox.ledger.paymentIntents).toHaveLength(2);
  // A login isn't replayed.
  expect(await press("requests/1/replay")).toContain("Only operations can be replayed.");
  expect(await press("requests/999/replay")).toContain("The log doesn't have this request.");
});

it("shows no secret", async () => {
  const credentials = { clientSecret: "a-client-secret", password: "a-password" };
  await using fixture = await openConsole({ credentials });
  const { client, press, read, requestPages, server, tokens } = fixture;
  const { access_token: token, refresh_token: refreshToken } = tokens;
  await client.paymentGateways.list({
    filter: { accountVerificationBearerToken: bearerSecret, institutionId: "alfa" },
  });
  await fetch(`${server.url}/elsewhere?access_token=${token}`, { headers: { cookie: `session=${token}` } });
  const form = new URLSearchParams({ grant_type: "password", ...credentials });
  const body = JSON.stringify({ password: "a-password", memo: { token: refreshToken } });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  for (const query of [`?access_token=${token}&_size=3`, "?password=a-password&p%61ss=a-password"]) {
    for (const sent of [{}, { method: "POST", body: form }, { method: "POST", body, headers }]) {
      await fetch(`${server.baseUrl}/payments${query}`, sent);
    }
  }
  const asked = new URLSearchParams({
    ...{ response_type: "code", client_id: "sandbox", redirect_uri: "https://bank.test/" },
    ...{ code_challenge: "c".repeat(43), code_challenge_method: "S256" },
  });
  const page = `${server.url}${server.sandbox.authorizationPath}?${asked}`;
  const { headers: given } = await fetch(page, { method: "POST", redirect: "manual" });
  const code = new URL(given.get("location") ?? "").searchParams.get("code") ?? "";
  await press("pay", { ...intentRequest, transactionId: "T" });
  const paths = ["", "records", "faults", ...(await requestPages())];
  const shown = (await Promise.all(paths.map((path) => read(path)))).join("\n");
  expect(paths.length).toBeGreaterThan(15);
  for (const secret of [code, token, refreshToken, ...Object.values(credentials), bearerSecret, "PRIVATE KEY"]) {
    expect(shown).not.toContain(secret);
  }
  for (const plain of ["institutionId=alfa", "access_token=…&_size=3", "grant_type=password"])
    expect(shown).toContain(plain);
});

it("shows refusals, and signs for no gateway whose key it doesn't have", async () => {
  await using fixture = await openConsole();
  const { press, server } = fixture;
  expect(await press("pay", { ...intentRequest, receiverAmount: "much", transactionId: "T" })).toMatch(
    /Status 400 .* "error": "invalid_value"/,
  );
  const reversed = {
    ...{ senderGatewayId: "bravo", receiverGatewayId: "alfa", senderCurrency: "USD", receiverCurrency: "EUR" },
    transactionId: "T",
  };
  expect(await press("pay", { ...intentRequest, ...reversed })).toContain("can't sign for bravo");
  expect(await press("payments/none/status", { status: "error" })).toContain("there is no payment with this id");
  expect(server.sandbox.payments).toEqual([]);
});

it("responds with 503 and does nothing, loses a response, cancels, and revokes tokens", async () => {
  await using fixture = await openConsole();
  const { client, press, server } = fixture;
  const made = () => server.sandbox.ledger.paymentIntents.length;
  await press("faults", { ...fault, kind: "unavailable" });
  await expect(client.paymentIntents.create(intentRequest)).rejects.toMatchObject({ status: 503 });
  expect(made()).toBe(0);
  await press("faults", fault);
  expect(await press("faults", { ...fault, of: "token" })).toContain("the next request of token");
  expect(await press("faults/1/cancel")).not.toContain("request of token");
  await expect(client.paymentIntents.create(intentRequest)).rejects.toMatchObject({ code: "outcome_unknown" });
  expect(made()).toBe(1);
  await press("revoke", { which: "all" });
  await expect(client.payments.list()).rejects.toMatchObject({ status: 401 });
});

it.each([{ kind: "burn" }, { of: "nothing" }])("doesn't arm the fault %j", async (fields) => {
  await using fixture = await openConsole();
  expect(await fixture.press("faults", { ...fault, ...fields })).toContain("Choose a fault");
  expect(await fixture.read("faults")).toContain("No fault is armed.");
});

it("explains why a signature is wrong", async () => {
  await using fixture = await openConsole();
  const { client, server, tokens, read, requestPages } = fixture;
  const payment = paymentFromIntent(await client.paymentIntents.create(intentRequest), "T-1");
  const body = JSON.stringify(payment);
  const path = `${basePath}/payments`;
  const headers = { authorization: `Bearer ${tokens.access_token}`, "content-type": "application/json" };
  const noted = async (signature: string | undefined, sent = body) => {
    const signed = signature === undefined ? {} : { "x-service-signature-base64": signature };
    await fetch(server.url + path, { method: "POST", headers: { ...headers, ...signed }, body: sent });
    return read((await requestPages())[0]);
  };
  expect(await noted(signatureOf(path + body, alfa))).toContain("Signature valid");
  expect(await noted(undefined)).toContain("Signature missing");
  expect(await noted(signatureOf(`/payments${body}`, alfa))).toMatch(/path: .*no base path \(\/gateway\/v1\)/);
  expect(await noted(signatureOf(path + body, bravo))).toMatch(/key: .*bravo/);
  const foreign = JSON.stringify({ ...payment, senderGatewayId: "nobody" });
  expect(await noted(signatureOf(path + foreign, alfa), foreign)).toContain("Signature not checked");
  expect(await noted(signatureOf(`${path}{`, alfa), "{")).toMatch(/is not checked the body is not JSON/);
  const long = JSON.stringify({ ...payment, memo: "x".repeat(9000) });
  expect(await noted(signatureOf(long, alfa), long)).toContain("more than 8192 bytes");
  expect(server.sandbox.payments).toHaveLength(1);
});

it("lets the sandbox's own hooks do what they did", async () => {
  const teapot = () => Response.json({ error: "nope", message: "no" }, { status: 418 });
  const onRequest: SandboxServerOptions["onRequest"] = ({ operation }) =>
    operation === "paymentIntents.create" ? teapot() : undefined;
  await using fixture = await openConsole({ onRequest });
  const { client, read, requestPages } = fixture;
  await expect(client.paymentIntents.create(intentRequest)).rejects.toMatchObject({ status: 418 });
  await expect.poll(async () => read((await requestPages())[0])).toContain('"error": "nope"');
});

it("escapes what it shows, and runs no script but its own", async () => {
  await using fixture = await openConsole();
  await fixture.client.paymentGateways.create({ institutionId: "<img src=x onerror=alert(1)>" });
  const response = await fetch(`${fixture.server.consoleUrl}records`);
  const page = await response.text();
  expect(page).not.toMatch(/<img|<script(?! src="\/console\/console\.js")|style=/);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-security-policy": expect.stringMatching(/^default-src 'none'; script-src 'self'; style-src 'self'/),
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
  });
  expect(response.headers.get("content-security-policy")).not.toContain("unsafe");
  for (const file of ["console.css", "console.js"]) {
    expect((await fetch(fixture.server.consoleUrl + file)).status).toBe(200);
  }
});

it.each([
  ["another origin", { origin: "http://attacker.test" }],
  ["an opaque origin", { origin: "null" }],
  ["no known origin", {}],
])("does nothing for a page of %s", async (_, headers) => {
  await using server = await startSandbox({ console: true });
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const post = (more: Record<string, string>) =>
    raw(server.url, "POST", "/console/faults", String(new URLSearchParams(fault)), { ...form, ...more });
  const refused = await post(headers);
  expect(refused.status).toBe(403);
  expect(Object.keys(refused.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  expect(await (await fetch(`${server.consoleUrl}faults`)).text()).toContain("No fault is armed.");
  expect((await post({ origin: server.url, "sec-fetch-site": "same-origin" })).status).toBe(303);
});

it("answers to addresses of this machine only", async () => {
  await using server = await startSandbox({ console: true });
  const { port } = new URL(server.url);
  const statuses = async (host: string) => {
    const paths = ["/console", "/console/", "/console/faults?from=docs"];
    const responses = await Promise.all(paths.map((path) => raw(server.url, "GET", path, "", { host })));
    return new Set(responses.map(({ status }) => status));
  };
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) expect(await statuses(host)).toEqual(new Set([200]));
  for (const host of ["attacker.test", `attacker.test:${port}`, "127.0.0.1", `127.0.0.1:${Number(port) + 1}`]) {
    expect(await statuses(host), host).toEqual(new Set([403]));
  }
  // The service itself responds under any name.
  expect(await raw(server.url, "GET", "/payments", "", { host: "attacker.test" })).toMatchObject({ status: 401 });
});

it("isn't there unless it is asked for", async () => {
  await using server = await startSandbox();
  expect(server).not.toHaveProperty("consoleUrl");
  expect(await raw(server.url, "GET", "/console/")).toMatchObject({ status: 404 });
});

it.each<SandboxServerOptions>([
  ...["0.0.0.0", "::", "127.0.0.1.attacker.test", ""].map((host) => ({ host })),
  ...["", alfa.publicKeyBase64].map((key) => ({ console: { signingKeys: [key] } })),
])("refuses the options %j", async (options) => {
  await expect(startSandbox({ console: true, ...options })).rejects.toThrow(ConfigError);
});
