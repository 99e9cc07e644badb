const masks: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, "[key]"],
  [/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, "[token]"],
  [/\b(bearer|basic)\s+[\w.~+/=-]+/gi, "$1 [token]"],
  [
    /\b(access_token|refresh_token|id_token|client_secret|password|accountVerificationBearerToken|senderAccount|receiverAccount)(\\?["']?\s*[=:]\s*\\?["']?)[^\s"'&,}\\]+/gi,
    "$1$2[redacted]",
  ],
];

/**
 * Takes out of a text what has the form of a key, a token or a named secret, and every one of `values` wherever it stands.
 * Values of fewer than four characters are left alone: they would tear ordinary words apart.
 */
export function redactText(text: string, values: readonly string[] = []): string {
  let safe = text;
  // The longest first: a value that is the beginning of another would leave the rest of that one standing.
  for (const value of [...values].sort((one, other) => other.length - one.length)) {
    if (value.length >= 4) safe = safe.replaceAll(value, "[redacted]");
  }
  for (const [pattern, replacement] of masks) safe = safe.replace(pattern, replacement);
  return safe;
}
