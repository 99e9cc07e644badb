/** Options that a script can't take as they are. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

/**
 * The whole number that an option of a script was given.
 *
 * @throws {OptionError} for anything else: a script that ran without it, or with `NaN`, would show less than it says.
 */
export function wholeOption(name: string, text: string, least = 0, most = 2 ** 32 - 1): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new OptionError(`--${name} must be a whole number from ${least} to ${most}; got ${JSON.stringify(text)}`);
}
