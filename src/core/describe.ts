import { hide, isShowable, redactText } from "./redact.js";

/** The part of a thrown value that may be shown. */
export interface DescribedError extends Error {
  readonly code?: string;
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
  // `fetch failed` has what failed as its cause.
  const shown = [code, Object(cause).code].find(isWord);
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

/** The candidate that was probably meant: the same but for its case, for one letter, or for two letters that are swapped. */
export function nearest(given: string, candidates: readonly string[]): string | undefined {
  const forms = formsOf(given);
  return candidates.find((candidate) => formsOf(candidate).some((form) => forms.includes(form)));
}

/** A text, and without each one of its letters. */
function formsOf(text: string): string[] {
  const lower = text.toLowerCase();
  if (lower.length < 4) return [lower];
  return [lower, ...Array.from(lower, (_, index) => lower.slice(0, index) + lower.slice(index + 1))];
}

/** Writes a suggestion for the end of a message. */
export function didYouMean(given: string, candidates: readonly string[]): string {
  const meant = nearest(given, candidates);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** The address of a page of the documentation, or of a section of it. `package.json` names the same repository. */
export function docsPage(page: string): string {
  return `https://github.com/cross-border-payments/cross-border-payments/blob/main/docs/${page}`;
}

/** The section about a code. One is for all statuses. */
export function docUrlOf(code: string): string {
  return docsPage(`error-codes.md#${code.replace(/\d+$/, "")}`);
}
