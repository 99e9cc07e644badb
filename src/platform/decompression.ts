/** How a platform takes bodies out of their content codings. */
export interface Decompression {
  /** The value of `accept-encoding` that asks for them. */
  readonly accepted: string;
  /**
   * Begins to decode one body. Undefined where a coding is not known.
   *
   * @param codings in lower case, in the order in which they were applied.
   * @param maxStageBytes between two codings. The listener limits what comes out of the last one.
   */
  open(codings: readonly string[], maxStageBytes: number, listener: DecoderListener): Decoder | undefined;
}

/** Decodes a body while it arrives. */
export interface Decoder {
  /** False where no more is wanted until `onDrain`. */
  write(chunk: Uint8Array): boolean;
  /** Nothing more will come. `onEnd` or `onError` follows. */
  end(): void;
  /** Nobody listens any more. */
  destroy(): void;
}

/** What a decoder tells, until it is destroyed. Either `onEnd` or `onError` is the last. */
export interface DecoderListener {
  onData(chunk: Uint8Array): void;
  onDrain(): void;
  onEnd(): void;
  onError(problem: DecoderProblem): void;
}

/** The body ended too early, is not what its codings say, or was too large between two of them. */
export type DecoderProblem = "cut-short" | "encoded" | "too-large";
