import type { ErrorCode } from "../core/errors.js";

/** A journal has done what a flow asked it for, or failed to. */
export interface JournalEvent {
  /** The method of `Journal`. */
  readonly operation: string;
  readonly durationMs: number;
  /** Where it failed: the error's own code, or OpenTelemetry's word for an error that is not the library's. */
  readonly code?: ErrorCode | "_OTHER";
}
