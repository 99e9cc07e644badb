import type { Operation } from "../../api/operation.js";
import { CrossBorderError } from "../../core/errors.js";
import type { PaymentGateway } from "../../resources/payment-gateways.js";
import { type PaymentIntent, paymentIntents } from "../../resources/payment-intents.js";
import { payments } from "../../resources/payments.js";
import { parseSigningKey, type SigningKey } from "../../signing/keys.js";
import { signedText } from "../../signing/signer.js";
import { fingerprintOf, sha256Hex } from "../../verification/explain-signature.js";
import { SandboxRefusal } from "../refusal.js";
import { mustSign, signatureHeader } from "../requests.js";
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
  readonly #keys: ReadonlyMap<string, ReturnType<typeof parseSigningKey>>;

  /** @throws {ConfigError} if one of the keys isn't a signing key. */
  constructor(sandbox: Sandbox, store: Store, signingKeys: readonly SigningKey[]) {
    this.#sandbox = sandbox;
    this.#store = store;
    this.#keys = new Map(signingKeys.map(parseSigningKey).map((key) => [sha256Hex(key.spki()), key]));
  }

  canSign(gatewayName: string): boolean {
    return this.#keyOf(this.#gateway(gatewayName)) !== undefined;
  }

  createIntent(body: Readonly<Record<string, string>>): Promise<DeskResponse> {
    return this.#operate(paymentIntents.create, body, this.#gateway(body.senderGatewayId));
  }

  /** @throws {SandboxRefusal} if none of the keys is the sender's. */
  createPayment(intent: PaymentIntent, senderGatewayTransactionId: string): Promise<DeskResponse> {
    const gateway = this.#gateway(intent.senderGatewayId);
    return this.#operate(payments.create, { ...intent, senderGatewayTransactionId }, gateway);
  }

  /** Logs in, and sends a request with that token. */
  async send(method: string, target: string, headers: Headers, body: RequestInit["body"]): Promise<DeskResponse> {
    const { clientId: client_id, clientSecret: client_secret, username, password } = this.#sandbox.credentials;
    const form = new URLSearchParams({ grant_type: "password", client_id, client_secret, username, password });
    const login = await this.#handle("POST", this.#sandbox.tokenPath, new Headers(), form);
    const token: unknown = Object(login.body).access_token;
    if (typeof token !== "string") {
      throw new SandboxRefusal("no_token", `The console got no access token: ${outcomeOf(login.status)}.`);
    }
    headers.set("authorization", `Bearer ${token}`);
    return this.#handle(method, target, headers, method === "GET" ? null : body);
  }

  #keyOf({ rsaPublicKeyBase64 }: PaymentGateway) {
    return isPublicKey(rsaPublicKeyBase64) ? this.#keys.get(fingerprintOf(rsaPublicKeyBase64)) : undefined;
  }

  #gateway(name = ""): PaymentGateway {
    const gateway = this.#store.gatewayNamed(name);
    if (gateway === undefined) throw new SandboxRefusal("unknown_gateway", "There is no such gateway.");
    return gateway;
  }

  async #operate(operation: Operation, body: object, gateway: PaymentGateway): Promise<DeskResponse> {
    const path = this.#sandbox.basePath + operation.path.text;
    const text = JSON.stringify(body);
    const headers = new Headers({ "content-type": "application/json" });
    if (mustSign(this.#store.settings, operation)) {
      const key = this.#keyOf(gateway);
      if (key === undefined) throw new SandboxRefusal("no_signing_key", "The console can't sign for this gateway.");
      headers.set(signatureHeader, Buffer.from(await key.sign(signedText(path, text))).toString("base64"));
    }
    return this.send(operation.method, path, headers, text);
  }

  async #handle(method: string, target: string, headers: Headers, body: RequestInit["body"]): Promise<DeskResponse> {
    const request = new Request(`http://sandbox.invalid${target}`, { method, headers, body: body ?? null });
    const response = await this.#sandbox.handle(request, { target, address: consoleAddress });
    return { status: response.status, body: await response.json().catch(() => undefined) };
  }
}

export function outcomeOf(status: number): string {
  return status === 0 ? "the response was lost" : `status ${status}`;
}

/** What a gateway registered need not be a public RSA key. */
export function isPublicKey(registered: string): boolean {
  try {
    return fingerprintOf(registered) !== "";
  } catch (error) {
    if (error instanceof CrossBorderError) return false;
    throw error;
  }
}
