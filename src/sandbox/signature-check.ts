import type { Operation } from "../api/operation.js";
import { CrossBorderError } from "../core/errors.js";
import { operations } from "../resources/catalogue.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import { verifySignature } from "../signing/signer.js";
import { explainSignature } from "../verification/explain-signature.js";
import type { Ledger } from "./ledger.js";
import type { SandboxQuirks } from "./quirks.js";
import type { JsonObject } from "./request-body.js";
import { SandboxRefusal } from "./responses.js";

/** Name of the header that carries signatures (Interface description 0.0.1, "Digital signatures", 1). */
export const signatureHeader = "X-SERVICE-SIGNATURE-BASE64";

export interface RequestToVerify {
  readonly operation: Operation;
  readonly params: readonly string[];
  readonly body: JsonObject;
  /** What was signed before the body: the path as it was on the wire. */
  readonly signedPath: string;
  readonly rawBody: Uint8Array;
  readonly signature: string | null;
}

/** A signature that has been verified, and the registered key that verified it. */
export interface VerifiedSignature {
  readonly signatureBase64: string;
  readonly publicKeyBase64: string;
}

/**
 * Verifies a request with the key of the gateway that it names.
 *
 * @throws {SandboxRefusal} when the signature is missing, the gateway is not known, or the signature is not its key's.
 */
export async function checkSignature(
  ledger: Ledger,
  request: RequestToVerify,
  { tellsWrongKey = false }: Pick<SandboxQuirks, "tellsWrongKey"> = {},
): Promise<VerifiedSignature> {
  const { signature } = request;
  if (signature === null) throw new SandboxRefusal("missing_signature", `the header ${signatureHeader} is missing`);
  for (const { rsaPublicKeyBase64: publicKeyBase64 } of signersOf(ledger, request)) {
    if (await isSignedWith(publicKeyBase64, signature, request)) return { signatureBase64: signature, publicKeyBase64 };
  }
  if (tellsWrongKey && signersOf(ledger, request).every((gateway) => isOfAnotherKey(gateway, signature, request))) {
    throw new SandboxRefusal("wrong_key", "the signature was not made with the gateway's registered key");
  }
  throw new SandboxRefusal(
    "invalid_signature",
    "the signature is not one of the gateway's registered key over this path and this body",
  );
}

/**
 * The gateway that has to sign: the one that the row's field of the body names; else the one of the record in the path, which is a
 * gateway or was signed by one. Where nothing names it, any registered gateway may sign.
 *
 * @throws {SandboxRefusal} when the gateway is not known.
 */
export function signersOf(ledger: Ledger, { operation, params, body }: RequestToVerify): PaymentGateway[] {
  const { signer = "" } = operation;
  const name = body[signer] ?? signerInPath(ledger, operation, params);
  if (name === undefined) return ledger.paymentGateways.records();
  const gateway = typeof name === "string" ? ledger.gatewayNamed(name) : undefined;
  if (gateway === undefined)
    throw new SandboxRefusal("unknown_gateway", "the gateway that has to sign is not registered");
  return [gateway];
}

/** A gateway is its own signer; any other record has that of its creation. Of two in a path, the last one counts. */
function signerInPath(ledger: Ledger, { name }: Operation, params: readonly string[]): unknown {
  const names = name.split(".");
  for (const [index, id] of [...params.entries()].reverse()) {
    if (names[index] === "paymentGateways") return id;
    const created = operations.get([...names.slice(0, index + 1), "create"].join("."));
    const record = ledger.find(names[index] ?? "", id, params[index - 1] ?? "");
    const signer = record && Reflect.get(record, created?.signer ?? "");
    if (signer !== undefined) return signer;
  }
  return undefined;
}

function isOfAnotherKey(
  { rsaPublicKeyBase64: publicKey }: PaymentGateway,
  signature: string,
  { signedPath: path, rawBody: body }: RequestToVerify,
): boolean {
  return explainSignature({ publicKey, path, body, signature }).findings.some(({ aspect }) => aspect === "key");
}

async function isSignedWith(
  publicKey: string,
  signature: string,
  { signedPath, rawBody }: RequestToVerify,
): Promise<boolean> {
  try {
    return await verifySignature({ publicKey, path: signedPath, body: rawBody, signature });
  } catch (error) {
    // What a gateway registered need not be a key; then nothing is signed with it.
    if (error instanceof CrossBorderError) return false;
    throw error;
  }
}
