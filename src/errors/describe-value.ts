/** What a value is, told without telling the value: it may be a secret. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null || Number.isNaN(value)) return String(value);
  if (value === "") return "an empty string";
  const type = typeof value;
  // The name of a built-in class, such as `Promise`, tells what was forgotten.
  const name = type === "object" ? Object.prototype.toString.call(value).slice("[object ".length, -1) : type;
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${/^(?:Object|Array)$/.test(name) ? name.toLowerCase() : name}`;
}
