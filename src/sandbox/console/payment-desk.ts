import type { Operation } from "../../api/operation.js";
import { CrossBorderError } from "../../core/errors.js";
import { type PaymentGateway, paymentGateways } from "../../resources/payment-gateways.js";
import { type PaymentIntent, paymentIntents } from "../../resources/payment-intents.js";
import { payments } from "../../resources/payments.js";
import { generateSigningKeyPair, parseSigningKey, type SigningKey } from "../../signing/keys.js";
import { signedText } from "../../signing/signer.js";
import { fingerprintOf, sha256Hex } from "../../verification/explain-signature.js";
import { SandboxRefusal } from "../refusal.js";
import { signatureHeader } from "../requests.js";
import type { Sandbox } from "../sandbox.js";
import type { Store } from "../store.js";

/** The address of the console's own requests. */
export const consoleAddress = "the console";

/** The response to a request of the console's own. */
export interface DeskResponse {
  /** 0 if the response was lost. */
  readonly status: number;
  /** The record or the error. `undefined` if the response isn't JSON. */
  readonly body: unknown;
}

/** Makes payments as a gateway does, by real requests: log in, create an intent, sign and send the payment. */
export class PaymentDesk {
  readonly #sandbox: Sandbox;
  readonly #store: Store;
  /** Signing keys by the fingerprints of their public halves. */
  readonly #keys = new Map<string, ReturnType<typeof parseSigningKey>>();
  #token: string | undefined;

  /** @throws {ConfigError} if one of the keys isn't a signing key. */
  constructor(sandbox: Sandbox, store: Store, signingKeys: readonly SigningKey[]) {
    this.#sandbox = sandbox;
    this.#store = store;
    for (const key of signingKeys) this.#addKey(key);
  }

  canSign(gateway: PaymentGateway): boolean {
    return this.#keys.has(registeredFingerprint(gateway));
  }

  createIntent(body: Readonly<Record<string, string>>): Promise<DeskResponse> {
    return this.#send(paymentIntents.create, body, this.gateway(body.senderGatewayId ?? ""));
  }

  /** @throws {SandboxRefusal} if none of the keys is the sender's. */
  createPayment(intent: PaymentIntent, senderGatewayTransactionId: string): Promise<DeskResponse> {
    const gateway = this.gateway(intent.senderGatewayId);
    return this.#send(payments.create, { ...intent, senderGatewayTransactionId }, gateway);
  }

  /** Generates a signing key, and registers it in place of the gateway's. */
  async replaceKey(gatewayId: string): Promise<DeskResponse> {
    const gateway = this.gateway(gatewayId);
    const { privateKey, publicKeyBase64: rsaPublicKeyBase64 } = await generateSigningKeyPair();
    this.#addKey(privateKey);
    return this.#send(paymentGateways.update, { rsaPublicKeyBase64 }, gateway);
  }

  /** Sends a request with a token of the console's own. */
  async send(method: string, target: string, headers: Headers, body: Uint8Array | string): Promise<DeskResponse> {
    this.#token ??= await this.#logIn();
    headers.set("authorization", `Bearer ${this.#token}`);
    const response = await this.#handle(method, target, headers, body);
    if (response.status !== 401) return response;
    this.#token = await this.#logIn();
    headers.set("authorization", `Bearer ${this.#token}`);
    return this.#handle(method, target, headers, body);
  }

  gateway(name: string): PaymentGateway {
    const gateway = this.#store.gatewayNamed(name);
    if (gateway === undefined) throw new SandboxRefusal("unknown_gateway", "There is no such gateway.");
    return gateway;
  }

  #addKey(signingKey: SigningKey): void {
    const key = parseSigningKey(signingKey);
    this.#keys.set(sha256Hex(key.spki()), key);
  }

  async #send(operation: Operation, body: object, gateway: PaymentGateway): Promise<DeskResponse> {
    const path = this.#sandbox.basePath + operation.path.text.replace(/\{\w+\}/, encodeURIComponent(gateway.id));
    const text = JSON.stringify(body);
    const headers = new Headers({ "content-type": "application/json" });
    if (this.#store.settings.signedOperations.some((name) => name === operation.name)) {
      const key = this.#keys.get(registeredFingerprint(gateway));
      if (key === undefined) {
        throw new SandboxRefusal("no_signing_key", "The console has no signing key of this gateway.", 409);
      }
      headers.set(signatureHeader, Buffer.from(await key.sign(signedText(path, text))).toString("base64"));
    }
    return this.send(operation.method, path, headers, text);
  }

  async #logIn(): Promise<string> {
    const { clientId, clientSecret, username, password } = this.#sandbox.credentials;
    const form = new URLSearchParams({ grant_type: "password", username, password });
    form.append("client_id", clientId);
    form.append("client_secret", clientSecret);
    const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
    const { status, body } = await this.#handle("POST", this.#sandbox.tokenPath, headers, String(form));
    const token: unknown = Object(body).access_token;
    if (typeof token === "string") return token;
    const what = status === 0 ? "the response was lost" : `status ${status}`;
    throw new SandboxRefusal("no_token", `The console got no access token: ${what}.`, 502);
  }

  async #handle(method: string, target: string, headers: Headers, body: Uint8Array | string): Promise<DeskResponse> {
    const content = method === "GET" || method === "HEAD" ? {} : { body };
    const request = new Request(`http://sandbox.invalid${target}`, { method, headers, ...content });
    const response = await this.#sandbox.handle(request, { target, address: consoleAddress });
    return { status: response.status, body: await response.json().catch(() => undefined) };
  }
}

/** SHA-256 of the DER form of a gateway's key, in hex. Empty if what it registered isn't a public RSA key. */
export function registeredFingerprint({ rsaPublicKeyBase64 }: PaymentGateway): string {
  try {
    return fingerprintOf(rsaPublicKeyBase64);
  } catch (error) {
    if (error instanceof CrossBorderError) return "";
    throw error;
  }
}
