import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Payment } from "cross-border-payments";
import type { SandboxRequest } from "cross-border-payments/sandbox";
import type { BankAnswer } from "./bank.js";
import { type FlowEvent, type FlowRecord, headers, type RecordPlace, recordsIn } from "./flow-records.js";
import { machineNowMs } from "./machine-time.js";

/** What processes write down, and what service and bank see of them, by the machine's time. */
export class RunRecords implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "cbp-records-"));
  readonly #records: FlowRecord[] = [];
  /** Requests that are being done, by key. */
  readonly #paying = new Map<string, string[]>();
  #payments = 0;

  /** Where a process writes. */
  placeOf(process: string): RecordPlace {
    return { process, file: join(this.#folder, process) };
  }

  /** Of what the service has done, before and after each request. */
  exchange({ operation, headers: sent, body }: SandboxRequest, payments: readonly Payment[]): void {
    if (operation === "payments.create") {
      const { memo }: { readonly memo: string } = JSON.parse(body);
      const known = this.#paying.get(memo) ?? [];
      this.#paying.set(memo, [...known, sent.get(headers.sending) ?? ""]);
    }
    for (const { memo } of payments.slice(this.#payments)) {
      const [sending = ""] = this.#paying.get(memo) ?? [];
      this.#note({ type: "paid", key: memo, sending });
    }
    this.#payments = payments.length;
    if (operation === "payments.list") this.#note({ type: "listed", process: sent.get(headers.process) ?? "" });
  }

  bankAnswers({ key, process, answer }: BankAnswer): void {
    if (answer === "given back") this.#note({ type: "gave back", key, process });
    else this.#note({ type: "asked for money", key, process, answer });
  }

  /** In their order. */
  all(): readonly FlowRecord[] {
    const ofProcesses = readdirSync(this.#folder).flatMap((file) => recordsIn(join(this.#folder, file)));
    return [...this.#records, ...ofProcesses].sort((one, other) => one.atMs - other.atMs);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }

  #note(event: FlowEvent): void {
    this.#records.push({ ...event, atMs: machineNowMs() });
  }
}
