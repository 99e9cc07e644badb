/** The JSON object of a text, or undefined if it is anything else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** The same, or an empty object if it is anything else. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> {
  return parseObject(text) ?? {};
}
