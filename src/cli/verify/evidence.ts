import type { Command } from "commander";
import { InvalidArgumentError } from "../../core/errors.js";
import { parsePublicKey, writePem } from "../../signing/keys.js";
import { signedText } from "../../signing/signer.js";
import { fingerprintOf, sha256Hex } from "../../verification/explain-signature.js";
import { type SignedPayment, signedPathOf, verifyPaymentRecord } from "../../verification/verify-record.js";
import { parseObject } from "../../wire/response.js";
import { readLines, readText } from "../files.js";
import { examples } from "../help.js";
import { Exit, exitCodes, printJson, type Terminal } from "../terminal.js";

interface EvidenceOptions {
  readonly from: string;
  readonly trustedKey: string;
}

export function addEvidence(program: Command, terminal: Terminal): void {
  const command = program
    .command("evidence <payment>")
    .helpGroup("Records:")
    .summary("write what proves a stored payment")
    .description(
      "Writes one JSON text: the record, the signed bytes, signature, key, and fingerprints, and how to check them with openssl alone. PAYMENT is the record's id or its senderGatewayTransactionId.",
    )
    .requiredOption("--from <file>", "records, one per line, as JSON; - for stdin")
    .requiredOption("--trusted-key <file>", "the sending gateway's public key, from elsewhere than the record")
    .option("--json", "print JSON, as always")
    .action((id: string, options: EvidenceOptions) => writeEvidence(id, options, terminal));
  examples(
    command,
    "evidence ALPHA-TX-1 --from payments.ndjson --trusted-key alpha-bank.pem > ALPHA-TX-1.evidence.json",
  );
}

async function writeEvidence(id: string, options: EvidenceOptions, terminal: Terminal): Promise<void> {
  const publicKey = await readText(options.trustedKey, terminal);
  parsePublicKey(publicKey);
  const payment = await find(id, readLines(options.from, terminal));
  const isGenuine = await verifyPaymentRecord(payment, { publicKey });
  printJson(terminal, { ...evidenceOf(payment), isGenuine, trustedFingerprint: fingerprintOf(publicKey) });
  if (!isGenuine) throw new Exit(exitCodes.checkFailed);
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
  // Encoded again, since whatever a record holds must not become part of a command line.
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
