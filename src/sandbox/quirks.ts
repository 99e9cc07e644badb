import {
  assertOptions,
  type CheckTable,
  isBoolean,
  isPlainObject,
  isPositiveInteger,
  isWholeFrom,
} from "../core/parse.js";
import { isOperationName, type OperationName } from "../resources/catalogue.js";

/** How a service can differ from the sandbox where the description leaves it open. Each can be written as JSON. */
export interface SandboxQuirks {
  /** A `_size` above `maxSize` is `clipped`, or `refused`. Default: `clipped`. */
  readonly oversize?: "clipped" | "refused";
  /** Which bounds include the record they name: `after`, `before`, `both`, or `none`. Default: `none`. */
  readonly inclusiveBounds?: "none" | "after" | "before" | "both";
  /** Which part of `_sort` is ignored: `none`, all terms but the first (`further`), or `all`. Default: `none`. */
  readonly ignoredSort?: "none" | "further" | "all";
  /** Lists are sorted newest first if no order is requested. Default: `false`. */
  readonly newestFirst?: boolean;
  /** The filters of `GET /payments`. Default: every field but `extras`. */
  readonly paymentFilters?: readonly string[];
  /** Unknown filters are `refused` or `ignored`. Default: `refused`. */
  readonly unknownFilters?: "refused" | "ignored";
  /** Paging tokens are texts instead of numbers. Default: `false`. */
  readonly textTokens?: boolean;
  /** How long after its response a record is listed, in milliseconds. Default: 0. */
  readonly listedAfterMs?: number;
  /** How far every second read of a list lags behind, in milliseconds. Default: 0. */
  readonly replicaLagMs?: number;
  /**
   * Machines that respond in turn: how far the clock of each is ahead of `now`, in milliseconds. Default: one
   * machine.
   */
  readonly machineClocksMs?: readonly number[];
  /** How long a cache repeats the response of a list, with `Age`. Default: 0. */
  readonly cacheSeconds?: number;
  /** The cache ignores `no-cache`. Default: `false`. */
  readonly cacheIgnoresNoCache?: boolean;
  /** The server compresses responses with gzip if the client accepts it. Default: `false`. */
  readonly compresses?: boolean;
  /** Idle time after which the server closes a connection. Default: Node's default, 5. */
  readonly idleSeconds?: number;
  /** The body of a refusal: `described`, `problem` (RFC 9457), or `html`. Default: `described`. */
  readonly errorForm?: "described" | "problem" | "html";
  /** Status for a missing record: 400 or 404. Default: 400. */
  readonly unknownRecordStatus?: 400 | 404;
  /** A replaced refresh token is `refused` or `taken`. Default: `refused`. */
  readonly spentRefreshTokens?: "refused" | "taken";
  /** A paid intent can't be paid again. Default: `false`. */
  readonly singleUseIntents?: boolean;
  /** How long an intent can be paid, in milliseconds. Default: unlimited. */
  readonly intentLifetimeMs?: number;
  /**
   * A payment request with the same bytes and signature is a new payment (`taken`), `refused`, or the `same`
   * payment. Default: `taken`.
   */
  readonly repeatedRequests?: "taken" | "refused" | "same";
  /** Which path is signed: `whole`, or `withoutBase` path. Default: `whole`. */
  readonly signedPath?: "whole" | "withoutBase";
  /** Signatures made with another key are refused as `wrong_key`, not `invalid_signature`. Default: `false`. */
  readonly tellsWrongKey?: boolean;
  /** The required fields of each operation. Default: the sandbox's own. */
  readonly requiredFields?: { readonly [Name in OperationName]?: readonly string[] };
  /** An update clears the fields that its body leaves out. Default: `false`. */
  readonly updateClears?: boolean;
  /** Maximum decimals of receiver amounts. Default: unlimited. */
  readonly receiverAmountScale?: number;
  /** An amount with more decimals is `refused` or `rounded`. Default: `refused`. */
  readonly excessDigits?: "refused" | "rounded";
  /** Maximum length of a memo. Default: unlimited. */
  readonly maxMemoLength?: number;
  /** Memos may contain `any` or only `ascii` characters. Default: `any`. */
  readonly memoCharacters?: "any" | "ascii";
  /** A memo that isn't allowed is `refused` or `cut`. Default: `refused`. */
  readonly excessMemo?: "refused" | "cut";
  /** `extras` of payments become null. Default: `false`. */
  readonly losesExtras?: boolean;
}

/** @throws what `refuse` makes, where a quirk has a value that it can't have. */
export function assertQuirks(quirks: unknown, refuse: (message: string) => Error): void {
  assertOptions(sandboxQuirks, quirks, "it", refuse);
}

const flag = { accepts: isBoolean, wanted: "true or false" };
const amount = { accepts: isWholeFrom(0), wanted: "a whole number of at least 0" };
const positive = { accepts: isPositiveInteger, wanted: "a whole number of at least 1" };
const oneOf = (...values: readonly unknown[]) => ({
  accepts: (value: unknown) => values.includes(value),
  wanted: values.map((value) => JSON.stringify(value)).join(" or "),
});
const isClocks = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(Number.isSafeInteger);
const isFields = (value: unknown) =>
  isPlainObject(value) &&
  Object.entries(value as object).every(([name, fields]) => isOperationName(name) && Array.isArray(fields));

const sandboxQuirks: CheckTable<SandboxQuirks> = {
  oversize: oneOf("clipped", "refused"),
  inclusiveBounds: oneOf("none", "after", "before", "both"),
  ignoredSort: oneOf("none", "further", "all"),
  newestFirst: flag,
  paymentFilters: { accepts: Array.isArray, wanted: "an array of fields" },
  unknownFilters: oneOf("refused", "ignored"),
  textTokens: flag,
  listedAfterMs: amount,
  replicaLagMs: amount,
  machineClocksMs: { accepts: isClocks, wanted: "an array of whole numbers, at least one" },
  cacheSeconds: amount,
  cacheIgnoresNoCache: flag,
  compresses: flag,
  idleSeconds: positive,
  errorForm: oneOf("described", "problem", "html"),
  unknownRecordStatus: oneOf(400, 404),
  spentRefreshTokens: oneOf("refused", "taken"),
  singleUseIntents: flag,
  intentLifetimeMs: positive,
  repeatedRequests: oneOf("taken", "refused", "same"),
  signedPath: oneOf("whole", "withoutBase"),
  tellsWrongKey: flag,
  requiredFields: { accepts: isFields, wanted: "an object of operations, each with an array of fields" },
  updateClears: flag,
  receiverAmountScale: amount,
  excessDigits: oneOf("refused", "rounded"),
  maxMemoLength: amount,
  memoCharacters: oneOf("any", "ascii"),
  excessMemo: oneOf("refused", "cut"),
  losesExtras: flag,
};
