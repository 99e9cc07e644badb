import { describeThrown } from "./describe.js";
import { ConfigError, type CrossBorderError } from "./errors.js";

/**
 * Waits for a file of this package that is loaded late. What can't be loaded is loaded again by the next `import()`, unless Node remembers
 * the failure of an ES module itself: each of reading a file in Node 20, that of a package that is not found in any.
 *
 * @param what what the file does.
 * @param outcome what did not happen without it.
 * @throws {ConfigError} unless `toError` makes another one; a new one for each call, since flows add facts to theirs.
 */
export async function loadedLate<Module>(
  loading: Promise<Module>,
  what: string,
  outcome = "nothing was sent",
  toError: (message: string, cause: Error) => CrossBorderError = (message, cause) =>
    new ConfigError(message, { cause }),
): Promise<Module> {
  try {
    const loaded = await loading;
    if (Object.keys(Object(loaded)).length === 0) throw new Error("the file is empty");
    return loaded;
  } catch (error) {
    throw toError(
      `${what} can't be loaded, so ${outcome}; is the package cross-border-payments installed completely, and are all files there that a bundler made of it?`,
      describeThrown(error),
    );
  }
}
