import { type RequestOptions, requestOptions } from "../api/request-options.js";
import { InvalidArgumentError } from "../errors/errors.js";
import {
  isPositiveInteger,
  isText,
  isWholeFrom,
  type OptionTable,
  parseOptions,
  withDefaults,
} from "../options/option-table.js";
import { clock } from "../timing/clock.js";
import type { Period } from "./compare-group.js";
import { parseTime, timeOption } from "./own-entry.js";

/** What `reconcilePayments` compares. */
export interface ReconcileOptions {
  /** The first instant of the period: a `Date`, or ISO 8601 with a time zone. */
  readonly from: string | Date;
  /** The first instant after it; not in the future. */
  readonly to: string | Date;
  /**
   * How far your booking and the creation of its payment can lie apart, in milliseconds. So far on either side of the period, entries and
   * payments are partners, and not missing themselves. Default: 3,600,000, an hour.
   */
  readonly slackMs?: number | undefined;
  /** Your gateway as payments name it, or all its names: other gateways' payments are passed over. Needed where those are listed. */
  readonly senderGatewayId?: string | readonly string[] | undefined;
  /** How many entries and payments are kept in memory before a temporary file takes them. Default: 50,000. */
  readonly maxInMemory?: number | undefined;
  /** Where the temporary file goes. Default: the operating system's directory for such files. */
  readonly temporaryDirectory?: string | undefined;
  /** How many payments are asked for at a time. Default: 100. */
  readonly size?: number | undefined;
  /** Ends the comparison with an `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
  /** Sent with every request. */
  readonly headers?: RequestOptions["headers"];
}

export interface ReconcileSettings {
  readonly period: Period;
  /** The period, with the slack on either side. */
  readonly widened: Period;
  readonly senderGatewayIds: ReadonlySet<string> | undefined;
  readonly maxInMemory: number;
  readonly temporaryDirectory: string | undefined;
  readonly size: number;
  readonly signal: AbortSignal | undefined;
  readonly headers: RequestOptions["headers"];
}

type OptionalOptions = Omit<ReconcileOptions, "from" | "to">;

const time = { ...timeOption, isRequired: true } as const;

/** Every option, with its default and its line in docs/statement.md. One that is missing here does not compile. */
export const reconcileOptions = {
  from: { ...time, documentation: "the first instant of the period: a `Date`, or ISO 8601 with a time zone" },
  to: { ...time, documentation: "the first instant after it; not in the future" },
  slackMs: {
    accepts: isWholeFrom(0, 366 * 86_400_000),
    wanted: "a whole number of milliseconds, from 0 to those of a year",
    default: 3_600_000,
    documentation: "how far a booking and the creation of its payment can lie apart",
  },
  senderGatewayId: {
    accepts: (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)),
    wanted: "the id of a gateway, or an array of its names",
    documentedDefault: "every payment that is listed",
    documentation: "your gateway as payments name it, or all its names",
  },
  maxInMemory: {
    accepts: isPositiveInteger,
    wanted: "a whole number above 0",
    default: 50_000,
    documentation: "how many entries and payments are kept in memory before a temporary file takes them",
  },
  temporaryDirectory: {
    accepts: isText,
    wanted: "the path of a directory",
    documentedDefault: "the operating system's",
    documentation: "where the temporary file goes",
  },
  size: {
    accepts: isPositiveInteger,
    wanted: "a whole number above 0",
    default: 100,
    documentation: "how many payments are asked for at a time",
  },
  signal: {
    ...requestOptions.signal,
    documentedDefault: "none",
    documentation: "ends the comparison with an `AbortedError`",
  },
  headers: { ...requestOptions.headers, documentedDefault: "none", documentation: "sent with every request" },
} satisfies OptionTable<ReconcileOptions>;

/** @throws {InvalidArgumentError} that names the option, what was found and what is wanted. */
export function toReconcileSettings(given: ReconcileOptions): ReconcileSettings {
  const refuse = (message: string) => new InvalidArgumentError(`reconcilePayments: ${message}`);
  const parsed = parseOptions(reconcileOptions, given, "the options", refuse);
  // The table refuses options without what is required.
  const { from, to } = parsed as { readonly from: unknown; readonly to: unknown };
  const { slackMs, senderGatewayId, headers, ...rest } = withDefaults<OptionalOptions, typeof reconcileOptions>(
    reconcileOptions,
    parsed,
  );
  const period = { fromMs: parseTime("from", from, refuse), toMs: parseTime("to", to, refuse) };
  if (period.fromMs >= period.toMs) throw refuse("from must lie before to");
  if (period.toMs > clock.wallMs())
    throw refuse("to must not lie in the future: payments of the period may still be made");
  const ids = typeof senderGatewayId === "string" ? [senderGatewayId] : senderGatewayId;
  return {
    ...rest,
    period,
    widened: { fromMs: period.fromMs - slackMs, toMs: period.toMs + slackMs },
    senderGatewayIds: ids && new Set(ids),
    headers: { ...headers },
  };
}
