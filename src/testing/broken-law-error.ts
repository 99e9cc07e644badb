import { docsPage } from "../core/describe.js";

/** A function or a class of yours breaks a law that it must keep. `cause` is what was found. */
export class BrokenLawError extends Error {
  override readonly name = "BrokenLawError";
  /** The law, in words. */
  readonly law: string;
  /** The address of the page about it. */
  readonly docUrl = docsPage("testing.md#your-own-parts");

  constructor(law: string, cause: unknown) {
    const found = cause instanceof Error ? cause.message : String(cause);
    super(`Broken: ${law}.\n${found}`, { cause });
    this.law = law;
  }
}

/** Laws that are checked one after the other, up to the first that is broken. */
export class Laws {
  readonly held: string[] = [];

  async law<T>(law: string, keeps: () => Promise<T>): Promise<T> {
    try {
      const result = await keeps();
      this.held.push(law);
      return result;
    } catch (error) {
      throw new BrokenLawError(law, error);
    }
  }
}
