/** A change that no test notices, and why that is right. */
export interface KnownSurvivor {
  readonly file: string;
  /** The line as it is, without the space around it. */
  readonly line: string;
  /** What is replaced, where several places of the line could be. */
  readonly original?: string;
  /** What stands in its place, each run of white space as one space. */
  readonly replacement: string;
  readonly why: string;
}
