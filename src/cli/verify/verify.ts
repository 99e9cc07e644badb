import type { Command } from "commander";
import { counted } from "../../core/describe.js";
import { InvalidArgumentError } from "../../core/errors.js";
import { parsePublicKey } from "../../signing/keys.js";
import {
  type SignedDeposit,
  type SignedPayment,
  type VerifyRecordOptions,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "../../verification/verify-record.js";
import { parseObject } from "../../wire/response.js";
import { readLines, readText } from "../files.js";
import { examples } from "../help.js";
import { Exit, exitCodes, print, printJson, styled, type Terminal } from "../terminal.js";
import { printable, wrapped } from "../text.js";

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
    .action((file: string, options: VerifyOptions) => verify(file, options, terminal));
  examples(
    command,
    "verify payments.ndjson --trusted-keys keys.json",
    "verify - --trusted-keys keys.json --json < deposits.ndjson",
  );
}

async function verify(file: string, { trustedKeys, json }: VerifyOptions, terminal: Terminal): Promise<void> {
  const keys = await readTrustedKeys(trustedKeys, terminal);
  const failures: { readonly line: number; readonly id: string | undefined; readonly problem: string }[] = [];
  const report = { payments: 0, deposits: 0, failed: 0 };
  let line = 0;
  for await (const text of readLines(file, terminal)) {
    line += 1;
    if (text.trim() === "") continue;
    const { kind, id, problem } = await check(text, keys);
    if (kind !== undefined) report[kind] += 1;
    if (problem === undefined) continue;
    report.failed += 1;
    if (json) failures.push({ line, id, problem });
    else {
      const what = printable(`${id === undefined ? "" : `, ${id}`}: ${problem}`);
      print(terminal, wrapped(styled(terminal, "red", `line ${line}`) + what, terminal.width));
    }
  }
  const { payments, deposits, failed } = report;
  // "All are genuine" of no record would be a lie that nobody notices.
  if (payments + deposits + failed === 0) {
    throw new InvalidArgumentError(`${file === "-" ? "stdin" : file} has no records`);
  }
  const checked = `${counted(payments, "payment")} and ${counted(deposits, "deposit")} checked`;
  if (json) printJson(terminal, { ...report, failures });
  else if (failed === 0) print(terminal, styled(terminal, "green", `${checked}: all are genuine`));
  else print(terminal, styled(terminal, "red", `${checked}: ${counted(failed, "line")} failed`));
  if (failed > 0) throw new Exit(exitCodes.checkFailed);
}

interface Checked {
  readonly kind?: "payments" | "deposits";
  readonly id?: string | undefined;
  readonly problem?: string;
}

async function check(text: string, keys: ReadonlyMap<string, string>): Promise<Checked> {
  const record = parseObject(text);
  if (record === undefined) return { problem: "not a record in JSON" };
  const id = typeof record.id === "string" ? record.id : undefined;
  const kind = "creationRequestBody" in record ? "payments" : "requestBody" in record ? "deposits" : undefined;
  if (kind === undefined) {
    return { id, problem: "no creationRequestBody or requestBody, so it is not a payment or a deposit" };
  }
  const gateway = record[kind === "payments" ? "senderGatewayId" : "paymentGatewayId"];
  const publicKey = typeof gateway === "string" ? keys.get(gateway) : undefined;
  if (publicKey === undefined) return { kind, id, problem: `no trusted key of its gateway ${JSON.stringify(gateway)}` };
  const verifyRecord = (options: VerifyRecordOptions) =>
    kind === "payments"
      ? verifyPaymentRecord(record as unknown as SignedPayment, options)
      : verifyDepositRecord(record as unknown as SignedDeposit, options);
  try {
    if (await verifyRecord({ publicKey })) return { kind, id };
    const isSigned = await verifyRecord({ publicKey, compareFields: false });
    const problem = isSigned
      ? "its fields differ from the signed request"
      : "its signature was not made with its gateway's trusted key over the stored request";
    return { kind, id, problem };
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return { kind, id, problem: error.message };
  }
}

/** Reads each key at once: a wrong one must not look like a wrong record. */
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
