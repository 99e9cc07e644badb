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
import { command, exitCodes } from "../command.js";
import { readLines, readText } from "../files.js";
import { wrapped } from "../layout.js";
import { printable } from "../printable.js";
import { print, printJson, styled, type Terminal } from "../terminal.js";

export const verifyCommand = command({
  name: "verify",
  summary: "Verifies stored payments and deposits, offline.",
  description:
    "FILE has one record a line, as JSON, such as a list writes it; - is stdin. A record is genuine when its signature is of the gateway's trusted key, over the stored request, and its own fields agree with that request.",
  operands: ["FILE"],
  options: {
    "trusted-keys": {
      type: "string",
      value: "FILE",
      help: "a JSON object: the public keys (PEM, or Base64 of it) by the gateways' ids, from elsewhere than the records",
      isRequired: true,
    },
    json: { type: "boolean", help: "as JSON" },
  },
  examples: [
    "verify payments.ndjson --trusted-keys keys.json",
    "verify - --trusted-keys keys.json --json < deposits.ndjson",
  ],
  async run({ values, operands: [file = ""] }, terminal) {
    const keys = await readTrustedKeys(values["trusted-keys"], terminal);
    const failures: Failure[] = [];
    const report = { payments: 0, deposits: 0, failed: 0 };
    let line = 0;
    for await (const text of readLines(file, terminal)) {
      line += 1;
      if (text.trim() === "") continue;
      const { kind, id, problem } = await check(text, keys);
      if (kind !== undefined) report[kind] += 1;
      if (problem === undefined) continue;
      report.failed += 1;
      if (values.json) failures.push({ line, id, problem });
      else {
        const what = printable(`${id === undefined ? "" : `, ${id}`}: ${problem}`);
        print(terminal, ...wrapped(styled(terminal, "red", `line ${line}`) + what, terminal.width, 2));
      }
    }
    // "All are genuine" of no record would be a lie that nobody notices.
    if (report.payments + report.deposits + report.failed === 0) {
      throw new InvalidArgumentError(`${file === "-" ? "stdin" : file} has no records`);
    }
    if (values.json) printJson(terminal, { ...report, failures });
    else showReport(report, terminal);
    return report.failed === 0 ? exitCodes.done : exitCodes.refuted;
  },
});

interface Report {
  readonly payments: number;
  readonly deposits: number;
  readonly failed: number;
}

interface Failure {
  readonly line: number;
  readonly id: string | undefined;
  readonly problem: string;
}

interface Checked {
  readonly kind?: "payments" | "deposits";
  readonly id?: string | undefined;
  readonly problem?: string;
}

function showReport({ payments, deposits, failed }: Report, terminal: Terminal): void {
  const checked = `${counted(payments, "payment")} and ${counted(deposits, "deposit")} checked`;
  if (failed === 0) print(terminal, styled(terminal, "green", `${checked}: all are genuine`));
  else print(terminal, styled(terminal, "red", `${checked}: ${counted(failed, "line")} failed`));
}

async function check(text: string, keys: ReadonlyMap<string, string>): Promise<Checked> {
  const record = parseObject(text);
  if (record === undefined) return { problem: "it is not a record in JSON" };
  const id = typeof record.id === "string" ? record.id : undefined;
  const kind = "creationRequestBody" in record ? "payments" : "requestBody" in record ? "deposits" : undefined;
  if (kind === undefined) {
    return {
      id,
      problem: "it has no creating request (creationRequestBody or requestBody), so it is no payment or deposit",
    };
  }
  const gateway = record[kind === "payments" ? "senderGatewayId" : "paymentGatewayId"];
  const publicKey = typeof gateway === "string" ? keys.get(gateway) : undefined;
  if (publicKey === undefined)
    return { kind, id, problem: `there is no trusted key of its gateway ${JSON.stringify(gateway)}` };
  const verify = (options: VerifyRecordOptions) =>
    kind === "payments"
      ? verifyPaymentRecord(record as unknown as SignedPayment, options)
      : verifyDepositRecord(record as unknown as SignedDeposit, options);
  try {
    if (await verify({ publicKey })) return { kind, id };
    const isSigned = await verify({ publicKey, compareFields: false });
    return {
      kind,
      id,
      problem: isSigned
        ? "its fields are not those of the request that was signed"
        : "its signature is not one of its gateway's trusted key over its stored request",
    };
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return { kind, id, problem: error.message };
  }
}

/** Each key is read at once: a wrong one must not look like a wrong record. */
async function readTrustedKeys(file: string, terminal: Terminal): Promise<ReadonlyMap<string, string>> {
  const keys = parseObject(await readText(file, terminal));
  if (keys === undefined) throw new InvalidArgumentError(`${file} is not a JSON object of keys by the gateways' ids`);
  for (const [gateway, key] of Object.entries(keys)) {
    try {
      parsePublicKey(key as string);
    } catch (error) {
      throw new InvalidArgumentError(`${file}: of ${JSON.stringify(gateway)} ${(error as Error).message}`);
    }
  }
  return new Map(Object.entries(keys) as [string, string][]);
}
