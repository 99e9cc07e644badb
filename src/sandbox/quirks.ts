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
  /** What a `_size` above `maxSize` comes to: a page of `maxSize` records, or `refused`. Default: `clipped`. */
  readonly oversize?: "clipped" | "refused";
  /** Which of `_after` and `_before` include the record whose token they are: `after`, `before`, `both` or `none`. Default: `none`. */
  readonly inclusiveBounds?: "none" | "after" | "before" | "both";
  /** What of `_sort` is ignored: `none`, every term but the first (`further`), or `all`. Default: `none`. */
  readonly ignoredSort?: "none" | "further" | "all";
  /** Records are listed newest first where no order is asked for. Default: `false`. */
  readonly newestFirst?: boolean;
  /** The filters that `GET /payments` has. Default: every field but `extras`. */
  readonly paymentFilters?: readonly string[];
  /** A filter that a list does not have is `refused` or `ignored`. Default: `refused`. */
  readonly unknownFilters?: "refused" | "ignored";
  /** Paging tokens are texts instead of numbers. Default: `false`. */
  readonly textTokens?: boolean;
  /** How long after its response a record is listed, in milliseconds. Default: 0. */
  readonly listedAfterMs?: number;
  /** How far every second read of a list is behind, in milliseconds, as where replicas lag. Default: 0. */
  readonly replicaLagMs?: number;
  /** Machines that respond in turn: how far the clock of each is ahead of `now`, in milliseconds. `Date` and timestamps follow it. Default: one machine, without a `Date` of its own. */
  readonly machineClocksMs?: readonly number[];
  /** For how long a cache on the way repeats the response of a list, in seconds, with `Age`. Default: 0. */
  readonly cacheSeconds?: number;
  /** The cache repeats it also where a request says `no-cache`. Default: `false`. */
  readonly cacheIgnoresNoCache?: boolean;
  /** Responses of the server are compressed by gzip where the request accepts that. Default: `false`. */
  readonly compresses?: boolean;
  /** Idle time after which the server closes a connection, in seconds. Default: Node's own, 5. */
  readonly idleSeconds?: number;
  /** The body of a refusal: as `described`, `problem` (RFC 9457) or `html`. Default: `described`. */
  readonly errorForm?: "described" | "problem" | "html";
  /** Status for a record that is not there: 400 or 404. Default: 400. */
  readonly unknownRecordStatus?: 400 | 404;
  /** A refresh token that was replaced is `refused` or `taken`. Default: `refused`. */
  readonly spentRefreshTokens?: "refused" | "taken";
  /** An intent that was paid can't be paid again. Default: `false`. */
  readonly singleUseIntents?: boolean;
  /** How long an intent can be paid, in milliseconds. Default: without end. */
  readonly intentLifetimeMs?: number;
  /** What a payment request comes to whose bytes and signature have come before: a further payment (`taken`), `refused`, or the `same` payment. Default: `taken`. */
  readonly repeatedRequests?: "taken" | "refused" | "same";
  /** Which path is signed: `whole`, or `withoutBase` path. Default: `whole`. */
  readonly signedPath?: "whole" | "withoutBase";
  /** A signature that was made with another key is refused as `wrong_key`, one over other bytes as `invalid_signature`. Default: `false`. */
  readonly tellsWrongKey?: boolean;
  /** By operation, the fields without which its body is refused, instead of those that the sandbox wants. Default: none. */
  readonly requiredFields?: { readonly [Name in OperationName]?: readonly string[] };
  /** An update empties the fields that its body leaves out. Default: `false`. */
  readonly updateClears?: boolean;
  /** Digits of a receiver amount after the point. Default: any. */
  readonly receiverAmountScale?: number;
  /** An amount with more digits is `refused` or `rounded`. Default: `refused`. */
  readonly excessDigits?: "refused" | "rounded";
  /** Characters of a memo. Default: any number. */
  readonly maxMemoLength?: number;
  /** Memos of `any` characters, or of `ascii` ones. Default: `any`. */
  readonly memoCharacters?: "any" | "ascii";
  /** A memo that is not allowed is `refused`, or loses what is too much (`cut`). Default: `refused`. */
  readonly excessMemo?: "refused" | "cut";
  /** `extras` of a payment become null. Default: `false`. */
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
