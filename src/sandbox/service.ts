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
}

export interface Service {
  readonly settings: SandboxSettings;
  readonly ledger: Ledger;
  readonly accounts: AccountDirectory;
  newId(): string;
  newTransactionId(): string;
  timestamp(): string;
}

export function createService(settings: SandboxSettings, accounts: AccountDirectory): Service {
  return {
    settings,
    accounts,
    ledger: createLedger(),
    newId: () => randomUUID(),
    newTransactionId: () => randomBytes(32).toString("hex"),
    timestamp: timestamps(settings.now),
  };
}
