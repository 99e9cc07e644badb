import { InvalidArgumentError } from "../../core/errors.js";
import { decisionsOf } from "../../desk/history-texts.js";
import { parsePublicKey, writePem } from "../../signing/keys.js";
import { signedText } from "../../signing/signer.js";
import { fingerprintOf, sha256Hex } from "../../verification/explain-signature.js";
import { type SignedPayment, signedPathOf, verifyPaymentRecord } from "../../verification/verify-record.js";
import { parseObject } from "../../wire/response.js";
import { command, exitCodes } from "../command.js";
import { readLines, readText } from "../files.js";
import { journalOptions, openFlows } from "../flows/journal.js";
import { readFlow } from "../flows/show-command.js";
import { printJson, type Terminal } from "../terminal.js";

export const evidenceCommand = command({
  name: "evidence",
  summary: "Writes what proves a stored payment, for anyone who asks in ten years.",
  description:
    "One JSON text: the record, the bytes that were signed, signature, key and fingerprints, and how to check them with nothing but openssl. PAYMENT is the record's id or its senderGatewayTransactionId.",
  operands: ["PAYMENT"],
  options: {
    from: { type: "string", value: "FILE", help: "the records, one a line, as JSON; - for stdin", isRequired: true },
    "trusted-key": {
      type: "string",
      value: "FILE",
      help: "the sending gateway's public key, known from elsewhere than the record",
      isRequired: true,
    },
    flow: {
      type: "string",
      value: "KEY",
      help: "the flow that made the payment: adds the decisions of operators about it",
    },
    ...journalOptions,
    json: { type: "boolean", help: "as JSON, which it always is" },
  },
  examples: ["evidence ALPHA-TX-1 --from payments.ndjson --trusted-key alpha-bank.pem > ALPHA-TX-1.evidence.json"],
  async run({ values, operands: [id = ""] }, terminal) {
    const publicKey = await readText(values["trusted-key"], terminal);
    parsePublicKey(publicKey);
    const payment = await find(id, readLines(values.from, terminal));
    const isGenuine = await verifyPaymentRecord(payment, { publicKey });
    const flow = values.flow === undefined ? undefined : await decisionsAbout(payment, values.flow, values, terminal);
    const trustedFingerprint = fingerprintOf(publicKey);
    printJson(terminal, { ...evidenceOf(payment), isGenuine, trustedFingerprint, ...(flow && { flow }) });
    return isGenuine ? exitCodes.done : exitCodes.refuted;
  },
});

/** What operators decided about the flow of a payment. @throws {InvalidArgumentError} */
async function decisionsAbout(
  { creationRequestSignatureBase64: signature }: SignedPayment,
  key: string,
  values: Readonly<Record<string, unknown>>,
  terminal: Terminal,
) {
  await using flows = await openFlows(values, terminal);
  const flow = await readFlow(flows, key);
  if (flow.claim?.signature !== signature) {
    throw new InvalidArgumentError(`the flow of key ${JSON.stringify(key)} has not sent the request of this payment`);
  }
  const decisions = decisionsOf(flow).map(({ payment: _, ...decision }) => decision);
  return { key, decisions };
}

async function find(id: string, lines: AsyncIterable<string>): Promise<SignedPayment> {
  for await (const line of lines) {
    const record = parseObject(line) ?? {};
    if (record.id === id || record.senderGatewayTransactionId === id) return record as unknown as SignedPayment;
  }
  throw new InvalidArgumentError(`there is no payment ${JSON.stringify(id)} among the records`);
}

function evidenceOf(payment: SignedPayment) {
  const { creationRequestUrl, creationRequestBody: body, creationRequestSignatureBase64: signature } = payment;
  const publicKey = writePem("PUBLIC KEY", parsePublicKey(payment.creationRequestPublicKeyBase64).spki());
  const signed = Buffer.from(signedText(signedPathOf(creationRequestUrl) ?? creationRequestUrl, body));
  // Written anew: whatever a record holds must not become a part of somebody's command line.
  const signatureBase64 = Buffer.from(signature, "base64").toString("base64");
  const fingerprint = fingerprintOf(publicKey);
  return {
    record: payment,
    signedBytes: { base64: signed.toString("base64"), sha256: sha256Hex(signed) },
    signature,
    algorithm: "RSA, SHA-256, PKCS#1 v1.5, over the request path followed by the raw body",
    publicKey,
    fingerprint,
    howToCheck: [
      `printf %s '${signed.toString("base64")}' | openssl base64 -d -A -out signed.bin`,
      `printf %s '${signatureBase64}' | openssl base64 -d -A -out signature.bin`,
      `printf %s '${Buffer.from(publicKey).toString("base64")}' | openssl base64 -d -A -out key.pem`,
      "openssl dgst -sha256 -verify key.pem -signature signature.bin signed.bin",
      `openssl pkey -pubin -in key.pem -outform DER | openssl dgst -sha256 # ${fingerprint}: compare with the gateway's key as you know it`,
    ],
  };
}
