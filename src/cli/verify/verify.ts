import type { Command } from "commander";
import { counted } from "../../core/describe.js";
import { InvalidArgumentError } from "../../core/errors.js";
import { parsePublicKey, writePem } from "../../signing/keys.js";
import { signedText } from "../../signing/signer.js";
import { fingerprintOf, sha256Hex } from "../../verification/explain-signature.js";
import {
  type SignedDeposit,
  type SignedPayment,
  signedPathOf,
  type VerifyRecordOptions,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "../../verification/verify-record.js";
import { parseObject } from "../../wire/response.js";
import { action, examples } from "../options.js";
import { readLines, readText } from "../settings.js";
import { Exit, exitCodes, print, printable, printJson, styled, type Terminal, wrapped } from "../terminal.js";

interface VerifyOptions {
  readonly trustedKeys: string;
  readonly json?: true;
}

export function addVerify(program: Command, terminal: Terminal): void {
  const command = program
    .command("verify <file>")
    .helpGroup("Records:")
    .summary("verify stored payments and deposits, offline")
    .description(
      "FILE has one record per line, as JSON, such as a list writes it; - is stdin. A record is genuine if its signature was made with the gateway's trusted key over the stored request, and its own fields agree with that request.",
    )
    .requiredOption(
      "--trusted-keys <file>",
      "a JSON object: public keys by gateway id, from elsewhere than the records",
    )
    .option("--json", "print JSON")
    .action(action(terminal, verify));
  examples(
    command,
    "verify payments.ndjson --trusted-keys keys.json",
    "verify - --trusted-keys keys.json --json < deposits.ndjson",
  );
}

async function verify({ trustedKeys, json }: VerifyOptions, terminal: Terminal, file = ""): Promise<void> {
  const keys = await readTrustedKeys(trustedKeys, terminal);
  const failures: { readonly line: number; readonly id: unknown; readonly problem: string }[] = [];
  const report = { payments: 0, deposits: 0, failed: 0 };
  let line = 0;
  for await (const text of readLines(file, terminal)) {
    line += 1;
    if (text.trim() === "") continue;
    const record = parseObject(text) ?? {};
    const kind = "creationRequestBody" in record ? "payments" : "requestBody" in record ? "deposits" : undefined;
    if (kind !== undefined) report[kind] += 1;
    const problem = await problemOf(record, kind, keys);
    if (problem === undefined) continue;
    const { id } = record;
    report.failed += 1;
    if (json) failures.push({ line, id, problem });
    else {
      const what = printable(`${id === undefined ? "" : `, ${id}`}: ${problem}`);
      print(terminal, wrapped(styled(terminal, "red", `line ${line}`) + what, terminal.width));
    }
  }
  const { payments, deposits, failed } = report;
  // An empty file must not pass as genuine.
  if (payments + deposits + failed === 0) {
    throw new InvalidArgumentError(`${file === "-" ? "stdin" : file} has no records`);
  }
  const checked = `${counted(payments, "payment")} and ${counted(deposits, "deposit")} checked`;
  if (json) printJson(terminal, { ...report, failures });
  else if (failed === 0) print(terminal, styled(terminal, "green", `${checked}: all are genuine`));
  else print(terminal, styled(terminal, "red", `${checked}: ${counted(failed, "line")} failed`));
  if (failed > 0) throw new Exit(exitCodes.checkFailed);
}

/** The problem of a record that isn't genuine. */
async function problemOf(
  record: Readonly<Record<string, unknown>>,
  kind: "payments" | "deposits" | undefined,
  keys: ReadonlyMap<unknown, string>,
): Promise<string | undefined> {
  if (kind === undefined) return "not a payment or a deposit in JSON: no creationRequestBody or requestBody";
  const gateway = record[kind === "payments" ? "senderGatewayId" : "paymentGatewayId"];
  const publicKey = keys.get(gateway);
  if (publicKey === undefined) return `no trusted key of its gateway ${JSON.stringify(gateway)}`;
  const verifyRecord = (options: VerifyRecordOptions) =>
    kind === "payments"
      ? verifyPaymentRecord(record as unknown as SignedPayment, options)
      : verifyDepositRecord(record as unknown as SignedDeposit, options);
  try {
    if (await verifyRecord({ publicKey })) return undefined;
    return (await verifyRecord({ publicKey, compareFields: false }))
      ? "its fields differ from the signed request"
      : "its signature was not made with its gateway's trusted key over the stored request";
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return error.message;
  }
}

/** Checks each key first, since a wrong key must not look like a wrong record. */
async function readTrustedKeys(file: string, terminal: Terminal): Promise<ReadonlyMap<string, string>> {
  const keys = parseObject(await readText(file, terminal));
  if (keys === undefined) throw new InvalidArgumentError(`${file} is not a JSON object of keys by gateway id`);
  for (const [gateway, key] of Object.entries(keys)) {
    try {
      parsePublicKey(key as string);
    } catch (error) {
      throw new InvalidArgumentError(`${file}: ${JSON.stringify(gateway)}: ${(error as Error).message}`);
    }
  }
  return new Map(Object.entries(keys) as [string, string][]);
}

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
    .action(action(terminal, writeEvidence));
  examples(
    command,
    "evidence ALPHA-TX-1 --from payments.ndjson --trusted-key alpha-bank.pem > ALPHA-TX-1.evidence.json",
  );
}

async function writeEvidence(options: EvidenceOptions, terminal: Terminal, id = ""): Promise<void> {
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
  // Encoded again, since a record's own text must not become part of a command line.
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
