import { hide, isShowable, redactText } from "./redact.js";

/** The part of a thrown value that may be shown. */
export interface DescribedError extends Error {
  readonly code?: string | number;
}

/**
 * Copies the name, the code, the redacted message, and the stack frames of an error from the caller's code or a library. Other
 * properties may hold requests, tokens, and responses.
 *
 * @param secrets values that may not appear in it.
 */
export function describeThrown(thrown: unknown, secrets: readonly string[] = []): DescribedError {
  const { name, message, stack, code, cause } = Object(thrown) as DescribedError;
  // Not `instanceof`, since Node's own errors aren't instances of `Error` in a Jest test.
  if (typeof message !== "string")
    return new Error(`a value that is not an Error was thrown (${describeValue(thrown)})`);
  // Eight digits may be an account.
  const isWord = (value: unknown) =>
    typeof value === "string" && /^(?!.*\d{8})[\w$.:-]{1,64}$/.test(value) && isShowable(value, secrets);
  const described = new Error(redactText(message, secrets));
  hide(described, "name", isWord(name) ? name : "Error");
  // `fetch failed` has what failed as its cause. Short numbers are the codes of gRPC, HTTP, and `DOMException`.
  const isShown = (value: unknown) => (typeof value === "number" ? Math.abs(value) < 1000 : isWord(value));
  const shown = [code, Object(cause).code].find(isShown);
  if (shown !== undefined) Object.assign(described, { code: shown });
  const frames = /\n {4}at [\s\S]*/.exec(String(stack))?.[0] ?? "";
  described.stack = `${described.name}: ${described.message}${redactText(frames, secrets)}`;
  return described;
}

/** Says what kind of value it is, without showing it, since it may be a secret. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null || Number.isNaN(value)) return String(value);
  if (value === "") return "an empty string";
  // The name of a built-in class, such as `Promise`, tells what was forgotten.
  const name = typeof value === "object" ? Object.prototype.toString.call(value).slice(8, -1) : typeof value;
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${/^(?:Object|Array)$/.test(name) ? name.toLowerCase() : name}`;
}

/** Whether a text looks like the name of a field. Other texts may be account numbers in the wrong place. */
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
 * The candidate that was probably meant. It differs by few letters, or else it ends with the given text, as `payment-gateways` does with
 * `gateways`.
 *
 * @param maxEdits by how many letters it may differ.
 */
export function nearest(
  given: string,
  candidates: Iterable<string>,
  maxEdits: number = Math.min(2, Math.floor(given.length / 3)),
): string | undefined {
  const known = [...candidates];
  const edits = known.map((candidate) => editsBetween(given.toLowerCase(), candidate.toLowerCase()));
  const fewest = Math.min(...edits);
  return fewest <= maxEdits ? known[edits.indexOf(fewest)] : known.find((candidate) => candidate.endsWith(`-${given}`));
}

/** Writes a suggestion for the end of a message. */
export function didYouMean(given: string, candidates: Iterable<string>): string {
  const meant = nearest(given, candidates);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** Letters to insert, leave out, or replace. Swapped letters count as one edit. */
function editsBetween(one: string, other: string): number {
  if (one !== other && [...one].sort().join("") === [...other].sort().join("")) return 1;
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...one].entries()) {
    const above = row;
    row = [index + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (letter === other[column - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[column] ?? 0) + 1, (row[column - 1] ?? 0) + 1));
    }
  }
  return row[other.length] ?? 0;
}

/** The address of a page of the documentation, or of a section of it. `package.json` names the same repository. */
export function docsPage(page: string): string {
  return `https://github.com/cross-border-payments/cross-border-payments/blob/main/docs/${page}`;
}

/** The section about a code. One is for all statuses. */
export function docUrlOf(code: string): string {
  return docsPage(`error-codes.md#${code.replace(/\d+$/, "")}`);
}
