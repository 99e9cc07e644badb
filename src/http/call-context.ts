import type { Attributes, Reporter } from "../events/reporter.js";
import type { Signer } from "../signing/signer.js";
import type { Transport } from "../wire/transport.js";
import type { InFlight } from "./in-flight.js";
import type { RequestSettings } from "./prepare-request.js";
import type { ValidationMode } from "./read-response.js";
import type { ReportedFields } from "./reported-fields.js";
import type { RetryBudget } from "./retry-budget.js";
import type { SchemaLoader } from "./schema.js";
import type { TokenSource } from "./token-source.js";

export interface CallContext extends RequestSettings {
  readonly origin: string;
  /** Attributes of spans that describe the origin. */
  readonly server: Attributes;
  readonly transport: Transport;
  readonly tokens: TokenSource;
  /** Absent if the client was built without a signing key. */
  readonly signer: Signer | undefined;
  readonly schemas: SchemaLoader;
  readonly reporter: Reporter;
  /** Whether the service ever responded. */
  hasResponded?: boolean;
  readonly reported: ReportedFields;
  readonly budget: RetryBudget;
  readonly inFlight: InFlight;
  readonly random: () => number;
  /** Headers of every call, with names in lower case. The headers of one call replace them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly validation: ValidationMode;
  readonly maxRecordBytes: number;
  readonly maxListBytes: number;
}
