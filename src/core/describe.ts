import { hide, isShowable, redactText } from "./redact.js";

/** What may be shown of something that was thrown. */
export interface DescribedError extends Error {
  readonly code?: string | number;
}

/**
 * Copies what may be shown of what the caller's code or a library threw: its name, its code, its redacted message, and its stack frames.
 * Other properties may hold requests, tokens, and responses.
 *
 * @param secrets values that may not appear in it.
 */
export function describeThrown(thrown: unknown, secrets: readonly string[] = []): DescribedError {
  const { name, message, stack, code, cause } = Object(thrown) as DescribedError;
  // Not `instanceof`: errors of Node itself are no instances of `Error` in a test of Jest's.
  if (typeof message !== "string")
    return new Error(`a value that is not an Error was thrown (${thrown === null ? "null" : typeof thrown})`);
  // Eight digits may be an account.
  const isWord = (value: unknown) =>
    typeof value === "string" && /^(?!.*\d{8})[\w$.:-]{1,64}$/.test(value) && isShowable(value, secrets);
  const isShort = (value: unknown) => Number.isInteger(value) && Math.abs(Number(value)) < 1000;
  const described = new Error(redactText(message, secrets));
  hide(described, "name", isWord(name) ? name : "Error");
  // `fetch failed` has what failed as its cause. Short numbers are the codes of gRPC, HTTP, and `DOMException`.
  const shown = [code, Object(cause).code].find((value) => isWord(value) || isShort(value));
  if (shown !== undefined) Object.assign(described, { code: shown });
  const frames = String(stack).indexOf("\n    at ");
  described.stack = `${described.name}: ${described.message}${frames < 0 ? "" : redactText(String(stack).slice(frames), secrets)}`;
  return described;
}

/** What a value is, told without telling the value: it may be a secret. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null || Number.isNaN(value)) return String(value);
  if (value === "") return "an empty string";
  const type = typeof value;
  // The name of a built-in class, such as `Promise`, tells what was forgotten.
  const name = type === "object" ? className(value) : type;
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${/^(?:Object|Array)$/.test(name) ? name.toLowerCase() : name}`;
}

/** A name that does not look like one is not shown: a class may call itself anything. */
function className(value: unknown): string {
  const name = Object.prototype.toString.call(value).slice("[object ".length, -1);
  return looksLikeName(name) ? name : "object";
}

/** Whether a text looks like the name of a field: what does not may be anything, such as an account number in the wrong place. */
export function looksLikeName(text: string): boolean {
  return /^(?!.*\d{3})[a-z_]\w{0,39}$/i.test(text);
}

/** An unknown name, after "no field" or "no option". */
export function describeName(name: string): string {
  return name === "" || looksLikeName(name)
    ? JSON.stringify(name)
    : `of a name of ${counted(name.length, "character")}`;
}

/** A number of things in words: "1 look", "2 looks". */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/**
 * The candidate that was probably meant: of those that differ by few letters, the one that differs least; or else the first that ends with
 * it, as `payment-gateways` does with `gateways`.
 *
 * @param maxEdits by how many letters it may differ.
 */
export function nearest(
  given: string,
  candidates: Iterable<string>,
  maxEdits: number = Math.min(2, Math.floor(given.length / 3)),
): string | undefined {
  let [best, fewest]: [string | undefined, number] = [undefined, maxEdits + 1];
  let longer: string | undefined;
  for (const candidate of candidates) {
    if (candidate.endsWith(`-${given}`)) longer ??= candidate;
    if (Math.abs(candidate.length - given.length) >= fewest) continue;
    const count = editsBetween(given.toLowerCase(), candidate.toLowerCase());
    if (count < fewest) [best, fewest] = [candidate, count];
  }
  return best ?? longer;
}

/** Writes a suggestion for the end of a message. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const meant = nearest(given, candidates);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** Letters to insert, leave out, replace, or swap with the next one (optimal string alignment). */
function editsBetween(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const edits = [
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      ];
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwapped) edits.push((beforeLast[column - 2] ?? 0) + 1);
      current.push(Math.min(...edits));
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}

/** The address of a page of the documentation, or of a section of it. `package.json` names the same repository. */
export function docsPage(page: string): string {
  return `https://github.com/cross-border-payments/cross-border-payments/blob/main/docs/${page}`;
}

/**
 * The section about a code. One is for all statuses, so that the digits are left out; and nothing else that a subclass of the caller's
 * may take for a code gets into an address.
 */
export function docUrlOf(code: string): string {
  return docsPage(`error-codes.md#${String(code).replace(/[^a-z_].*/s, "")}`);
}
