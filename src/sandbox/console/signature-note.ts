import type { PaymentGateway } from "../../resources/payment-gateways.js";
import { explainSignature, type SignatureQuestion } from "../../verification/explain-signature.js";
import { type OperationRequest, signedRequest } from "../operation.js";
import { parseBody } from "../request-body.js";
import { SandboxRefusal } from "../responses.js";
import type { Service } from "../service.js";
import { checkSignature, type RequestToVerify, signersOf } from "../signature-check.js";
import type { SignatureLine } from "./console-state.js";
import type { RegisteredKeys } from "./registered-keys.js";

export interface SignatureNote {
  readonly line: SignatureLine;
  /** Where it is wrong: finds out why, which takes up to a second. It waits until somebody looks. */
  readonly explain?: () => SignatureLine;
}

export const unasked: SignatureNote = { line: { verdict: "unasked" } };

/** Checks a request's signature by the keys that are registered now, whatever else may be wrong with the request. */
export async function noteSignature(
  service: Service,
  registered: RegisteredKeys,
  request: OperationRequest,
): Promise<SignatureNote> {
  const { operation } = request.route;
  if (!service.settings.signedOperations.has(operation.name)) return unasked;
  try {
    const { seen, bytes } = request;
    const body = operation.body === undefined ? {} : parseBody(bytes, seen.headers.get("content-type"));
    const signed = signedRequest(service.settings, request, body);
    return await note(service, registered, signed, `http://${seen.headers.get("host")}`);
  } catch (error) {
    if (error instanceof SandboxRefusal) return unchecked(error.message);
    throw error;
  }
}

async function note(
  { ledger, settings }: Service,
  registered: RegisteredKeys,
  signed: RequestToVerify,
  origin: string,
): Promise<SignatureNote> {
  const isKey = (gateway: PaymentGateway) => registered.fingerprintOf(gateway) !== "";
  const [gateway, ...more] = signersOf(ledger, signed);
  const signer = more.length === 0 ? gateway?.institutionId : undefined;
  if (signed.signature === null) return { line: { verdict: "missing", signer } };
  if (await isVerified(() => checkSignature(ledger, signed))) return { line: { verdict: "valid", signer } };
  if (gateway === undefined) return unchecked("no gateway is registered");
  if (!isKey(gateway)) return unchecked(`what ${nameOf(gateway)} has registered is no public RSA key`);
  if (signed.rawBody.length > longestExplained) {
    const why = `the body has more than ${longestExplained} bytes: let "cross-border explain-signature" tell why`;
    return { line: { verdict: "wrong", signer, why } };
  }
  const others = ledger.paymentGateways.rows().flatMap(({ record }) => (record.id === gateway.id ? [] : [record]));
  const question: SignatureQuestion = {
    path: signed.signedPath,
    body: signed.rawBody,
    signature: signed.signature,
    publicKey: gateway.rsaPublicKeyBase64,
    otherKeys: new Map(others.filter(isKey).map((other) => [nameOf(other), other.rsaPublicKeyBase64])),
    basePath: settings.basePath,
    origin,
  };
  const explain = () => {
    const { findings } = explainSignature(question);
    return { verdict: "wrong", signer, findings } as const;
  };
  return { line: { verdict: "explaining", signer }, explain };
}

/** A longer body is not explained, since tens of thousands of hashes take too long. */
const longestExplained = 8 * 1024;

function unchecked(why: string): SignatureNote {
  return { line: { verdict: "unchecked", why } };
}

async function isVerified(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    if (error instanceof SandboxRefusal) return false;
    throw error;
  }
}

function nameOf({ institutionId, id }: PaymentGateway): string {
  return institutionId || id;
}
