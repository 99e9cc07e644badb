import type { Operation } from "../../api/operation.js";
import { type PaymentGateway, paymentGateways } from "../../resources/payment-gateways.js";
import { type PaymentIntent, paymentIntents } from "../../resources/payment-intents.js";
import { payments } from "../../resources/payments.js";
import { generateSigningKeyPair, parseSigningKey, type SigningKey } from "../../signing/keys.js";
import { signedText } from "../../signing/signer.js";
import { sha256Hex } from "../../verification/explain-signature.js";
import type { JsonObject } from "../request-body.js";
import { SandboxRefusal } from "../responses.js";
import type { Sandbox } from "../sandbox.js";
import type { Service } from "../service.js";
import { signatureHeader } from "../signature-check.js";
import { pageHeader } from "./own-page-only.js";
import type { RegisteredKeys } from "./registered-keys.js";

/** The response to a request of the console's own. */
export interface DeskResponse {
  /** 0 for a connection that was broken off. */
  readonly status: number;
  /** The record, or the error; absent where the response has no JSON. */
  readonly body: unknown;
}

/** Makes payments as a gateway does: logs in, asks for an intent, signs and sends the payment. Its requests are real ones. */
export class PaymentDesk {
  readonly #sandbox: Sandbox;
  readonly #service: Service;
  readonly #registered: RegisteredKeys;
  /** Signing keys by the fingerprints of their public halves. */
  readonly #keys = new Map<string, ReturnType<typeof parseSigningKey>>();
  #token: string | undefined;

  /** @throws {ConfigError} when one of the keys is no signing key. */
  constructor(sandbox: Sandbox, service: Service, registered: RegisteredKeys, signingKeys: readonly SigningKey[]) {
    this.#sandbox = sandbox;
    this.#service = service;
    this.#registered = registered;
    for (const key of signingKeys) this.#addKey(key);
  }

  canSign(gateway: PaymentGateway): boolean {
    return this.#keys.has(this.#registered.fingerprintOf(gateway));
  }

  /** @param fields The body of the request, which the service may refuse. */
  async createIntent(senderGatewayId: string, fields: JsonObject): Promise<DeskResponse> {
    return this.#send(paymentIntents.create, fields, this.#gateway(senderGatewayId));
  }

  /** The stored intent that a response brought; nothing where it brought none. */
  intentIn({ body }: DeskResponse): PaymentIntent | undefined {
    return this.#service.ledger.paymentIntents.find(String(Object(body).id))?.record;
  }

  /** @throws {SandboxRefusal} when there is no such intent, or none of the keys is its sender's. */
  async createPayment(intentId: string, senderGatewayTransactionId: string): Promise<DeskResponse> {
    const intent = this.#service.ledger.paymentIntents.find(intentId)?.record;
    if (intent === undefined) throw new SandboxRefusal("unknown_intent", "there is no such intent");
    return this.#send(
      payments.create,
      { ...intent, senderGatewayTransactionId },
      this.#gateway(intent.senderGatewayId),
    );
  }

  /** Makes a signing key, and registers it as the gateway's in place of the one that it has. */
  async replaceKey(gatewayId: string): Promise<DeskResponse> {
    const gateway = this.#gateway(gatewayId);
    const { privateKey, publicKeyBase64: rsaPublicKeyBase64 } = await generateSigningKeyPair();
    this.#addKey(privateKey);
    return this.#send(paymentGateways.update, { rsaPublicKeyBase64 }, gateway);
  }

  #addKey(signingKey: SigningKey): void {
    const key = parseSigningKey(signingKey);
    this.#keys.set(sha256Hex(key.spki()), key);
  }

  #gateway(name: string): PaymentGateway {
    const gateway = this.#service.ledger.gatewayNamed(name);
    if (gateway === undefined) throw new SandboxRefusal("unknown_gateway", "there is no such gateway");
    return gateway;
  }

  async #send(operation: Operation, body: unknown, gateway: PaymentGateway): Promise<DeskResponse> {
    const path = this.#sandbox.basePath + operation.path.text.replace(/\{\w+\}/, encodeURIComponent(gateway.id));
    const text = JSON.stringify(body);
    const signature = await this.#sign(operation, path, text, gateway);
    const attempt = async () => {
      this.#token ??= await this.#logIn();
      const authorization = `Bearer ${this.#token}`;
      return this.#handle(operation.method, path, text, {
        authorization,
        "content-type": "application/json",
        ...signature,
      });
    };
    const response = await attempt();
    if (response.status !== 401) return response;
    this.#token = undefined;
    return attempt();
  }

  async #sign(
    operation: Operation,
    path: string,
    body: string,
    gateway: PaymentGateway,
  ): Promise<Record<string, string>> {
    if (!this.#service.settings.signedOperations.has(operation.name)) return {};
    const key = this.#keys.get(this.#registered.fingerprintOf(gateway));
    if (key === undefined)
      throw new SandboxRefusal("no_signing_key", "the console has no signing key of this gateway", 409);
    return { [signatureHeader]: Buffer.from(await key.sign(signedText(path, body))).toString("base64") };
  }

  async #logIn(): Promise<string> {
    const { clientId, clientSecret, username, password } = this.#sandbox.credentials;
    const form = { grant_type: "password", client_id: clientId, client_secret: clientSecret, username, password };
    const contentType = { "content-type": "application/x-www-form-urlencoded" };
    const { status, body } = await this.#handle(
      "POST",
      this.#sandbox.tokenPath,
      `${new URLSearchParams(form)}`,
      contentType,
    );
    const token: unknown = Object(body).access_token;
    if (typeof token === "string") return token;
    const what = status === 0 ? "the connection was broken off" : `status ${status}`;
    throw new SandboxRefusal("no_token", `the console got no access token: ${what}`, 502);
  }

  async #handle(method: string, target: string, body: string, headers: Record<string, string>): Promise<DeskResponse> {
    const request = new Request(`http://sandbox.invalid${target}`, {
      method,
      body,
      headers: { ...headers, [pageHeader]: "1" },
    });
    const response = await this.#sandbox.handle(request, { target, address: "the console" });
    return { status: response.status, body: await jsonOf(response) };
  }
}

async function jsonOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
