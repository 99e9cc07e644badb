import { counted } from "./counted.js";

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

/** A name that nobody knows, after "no field" or "no option". */
export function describeName(name: string): string {
  return name === "" || looksLikeName(name)
    ? JSON.stringify(name)
    : `of a name of ${counted(name.length, "character")}`;
}
