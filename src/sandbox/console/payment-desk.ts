import type { Operation } from "../../api/operation.js";
import { parseSigningKey, type SigningKey } from "../../signing/keys.js";
import { signRequest } from "../../signing/signer.js";
import { SandboxRefusal } from "../refusal.js";
import { isSignedWith, mustSign, signatureHeader } from "../requests.js";
import type { Sandbox } from "../sandbox.js";
import type { Store } from "../store.js";
import type { Tokens } from "../tokens.js";

/** Makes payments as a gateway does, by real requests. */
export class PaymentDesk {
  readonly #sandbox: Sandbox;
  readonly #store: Store;
  readonly #tokens: Tokens;
  readonly #signingKeys: readonly SigningKey[];

  /** @throws {ConfigError} if one of the keys isn't a signing key. */
  constructor(sandbox: Sandbox, store: Store, tokens: Tokens, signingKeys: readonly SigningKey[]) {
    this.#sandbox = sandbox;
    this.#store = store;
    this.#tokens = tokens;
    for (const key of signingKeys) parseSigningKey(key);
    this.#signingKeys = signingKeys;
  }

  /** @returns the body of the response. @throws {SandboxRefusal} if none of the keys is the gateway's. */
  async create(operation: Operation, gatewayName: string, body: object): Promise<unknown> {
    const path = this.#sandbox.basePath + operation.path.text;
    const text = JSON.stringify(body);
    const headers = new Headers({ "content-type": "application/json" });
    if (mustSign(this.#store.settings, operation)) {
      headers.set(signatureHeader, await this.#sign(gatewayName, path, text));
    }
    return this.send(operation.method, path, headers, text);
  }

  /** Sends a request with a token of its own. @returns the body of the response. */
  async send(method: string, target: string, headers: Headers, body: string): Promise<unknown> {
    const login = await this.#tokens.logIn("console", {}).json();
    headers.set("authorization", `Bearer ${Object(login).access_token}`);
    const init = { method, headers, ...(method !== "GET" && { body }) };
    const response = await this.#sandbox.handle(new Request(`http://sandbox.invalid${target}`, init), { target });
    return response.json().catch(() => undefined);
  }

  async #sign(gatewayName: string, path: string, body: string): Promise<string> {
    const publicKey = this.#store.gatewayNamed(gatewayName)?.rsaPublicKeyBase64 ?? "";
    for (const key of this.#signingKeys) {
      const signature = await signRequest({ key, path, body });
      if (await isSignedWith({ publicKey, path, body, signature })) return signature;
    }
    throw new SandboxRefusal(
      "no_signing_key",
      `The console can't sign for ${gatewayName}. Pass its signing key to startSandbox in console: { signingKeys }.`,
    );
  }
}
