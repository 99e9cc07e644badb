import { createSign } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { SigningKeyPair } from "../../src/index.js";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../src/sandbox/index.js";

/** By `node:crypto` alone: the package's signing is not to be checked with itself. */
export function signatureOf(text: string, { privateKey }: SigningKeyPair): string {
  return createSign("RSA-SHA256").update(text, "utf8").sign(privateKey, "base64");
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into responses whose shape is what they test.
export type Json = any;

export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

export interface SendOptions {
  /** Signs path and body. */
  readonly keys?: SigningKeyPair;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Fixture = Awaited<ReturnType<typeof openFixture>>;

export const host = "https://service.test";

/** A sandbox and someone who is logged in to it. */
export async function openFixture(options: SandboxOptions = {}) {
  const sandbox = createSandbox(options);
  const token = (await login(sandbox)).body.access_token;
  async function send(method: string, target: string, body?: unknown, { keys, headers }: SendOptions = {}) {
    const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const signed = keys && { "x-service-signature-base64": signatureOf(target + (text ?? ""), keys) };
    const request = new Request(host + target, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(text === undefined ? {} : { "content-type": "application/json" }),
        ...signed,
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    return responseOf(await sandbox.fetch(request));
  }
  /** Creates a record and returns it; throws when the sandbox refuses. */
  async function create(target: string, body: unknown, options?: SendOptions): Promise<Json> {
    const response = await send("POST", target, body, options);
    if (response.status !== 200) throw new Error(`${target}: ${response.status} ${JSON.stringify(response.body)}`);
    return response.body;
  }
  return { sandbox, send, create };
}

export async function responseOf(response: Response): Promise<ReadResponse> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

export async function login(sandbox: Sandbox, fields: Readonly<Record<string, string>> = {}): Promise<ReadResponse> {
  const { clientId, clientSecret, username, password } = sandbox.credentials;
  return askToken(sandbox, {
    grant_type: "password",
    client_id: clientId,
    client_secret: clientSecret,
    username,
    password,
    ...fields,
  });
}

export function refresh(sandbox: Sandbox, refreshToken: string): Promise<ReadResponse> {
  const { clientId } = sandbox.credentials;
  return askToken(sandbox, { grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken });
}

export async function askToken(sandbox: Sandbox, fields: Readonly<Record<string, string>>): Promise<ReadResponse> {
  const body = new URLSearchParams(fields);
  return responseOf(await sandbox.fetch(`https://identity.test${sandbox.tokenPath}`, { method: "POST", body }));
}

/** One request as no `fetch` would send it. */
export async function raw(url: string, method: string, path: string, body = "", headers: object = {}) {
  const { hostname, port } = new URL(url);
  const outgoing = httpRequest({ hostname, port, method, path, headers: { ...headers }, agent: false }).end(body);
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  incoming.resume();
  await once(incoming, "end");
  return { status: incoming.statusCode, headers: incoming.headers };
}

/** Two gateways that share one key pair: `alfa` sends in EUR, `bravo` receives in USD. */
export async function registerGateways(fixture: Fixture, keys: SigningKeyPair): Promise<{ alfa: Json; bravo: Json }> {
  const gateway = (institutionId: string, currency: string) =>
    fixture.create("/payment-gateways", {
      institutionId,
      currency,
      rsaPublicKeyBase64: keys.publicKeyBase64,
    });
  return { alfa: await gateway("alfa", "EUR"), bravo: await gateway("bravo", "USD") };
}

/** A provider whose one rate sells EUR at alfa for USD at bravo. */
export async function registerRate(fixture: Fixture, prices: { buyPrice: string; sellPrice: string }): Promise<Json> {
  const provider = await fixture.create("/liquidity-providers", { firstName: "Lia" });
  return fixture.create(`/liquidity-providers/${provider.id}/exchange-rates`, { ...pair, ...prices });
}

export const pair = {
  baseGatewayId: "alfa",
  counterGatewayId: "bravo",
  baseCurrency: "EUR",
  counterCurrency: "USD",
};

export const intentRequest = {
  senderGatewayId: "alfa",
  senderCurrency: "EUR",
  senderAccount: "A-1",
  receiverGatewayId: "bravo",
  receiverAccount: "B-1",
  receiverCurrency: "USD",
  receiverAmount: "100.00",
  memo: "rent",
};

export function paymentOf({ id, extras, ...intent }: Json, senderGatewayTransactionId = "T-1"): Json {
  return { id, extras, ...intent, senderGatewayTransactionId };
}
