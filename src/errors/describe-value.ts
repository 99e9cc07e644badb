/** What a value is, told without telling the value: it may be a secret. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return "an array";
  if (value instanceof Uint8Array) return "a Uint8Array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
