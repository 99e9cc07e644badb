import { randomBytes, randomUUID } from "node:crypto";
import type { AccountDirectory } from "./account-directory.js";
import { createLedger, type Ledger } from "./ledger.js";
import type { SandboxSettings } from "./sandbox-options.js";
import type { VerifiedSignature } from "./signature-check.js";
import { timestamps } from "./timestamps.js";

/** A request that has passed everything that is the same for all operations. */
export interface SandboxCall<Body> {
  /** Values of the path's parameters, in order. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  /** Holds to the fields of the row. */
  readonly body: Body;
  readonly rawText: string;
  /** The path on the wire, as it is signed. */
  readonly signedPath: string;
  /** Present where the operation has to be signed. */
  readonly signature: VerifiedSignature | undefined;
  /** Number of the machine that responds. */
  readonly machine: number;
}

export interface Service {
  readonly settings: SandboxSettings;
  readonly ledger: Ledger;
  readonly accounts: AccountDirectory;
  newId(): string;
  newTransactionId(): string;
  /** By the clock of a machine; of the first one unless given. */
  timestamp(machine?: number): string;
  /** Whether a read of a list is one that lags behind. */
  isLaggingRead(): boolean;
}

export function createService(settings: SandboxSettings, accounts: AccountDirectory): Service {
  const clocks = (settings.quirks.machineClocksMs ?? [0]).map((ms) => timestamps(() => settings.now() + ms));
  let reads = 0;
  return {
    settings,
    accounts,
    ledger: createLedger(settings.now),
    newId: () => randomUUID(),
    newTransactionId: () => randomBytes(32).toString("hex"),
    timestamp: (machine = 0) => clocks[machine]?.() ?? "",
    isLaggingRead: () => reads++ % 2 === 1,
  };
}
