import { CrossBorderError } from "../errors/errors.js";
import { type FlowPhase, type FlowState, isSettled } from "./flow-state.js";
import type { JournalEntry, JournalState } from "./journal.js";
import { writeJson } from "./write-json.js";

/** Encrypts what a journal stores. Both functions may be asynchronous; `decrypt` must return exactly what `encrypt` was given. */
export interface FlowCipher {
  encrypt(text: string): Promise<string> | string;
  decrypt(text: string): Promise<string> | string;
}

/** Turns states into what a journal stores, and back. */
export class FlowCodec {
  readonly #cipher: FlowCipher | undefined;

  constructor(cipher: FlowCipher | undefined) {
    this.#cipher = cipher;
  }

  async encode(state: FlowState): Promise<JournalState> {
    const text = writeJson({ version, state });
    const data = this.#cipher === undefined ? text : await this.#cipher.encrypt(text);
    return { phase: state.phase, settled: isSettled(state), data };
  }

  /** @throws {CrossBorderError} `flow_unreadable` when this version of the library can't read the entry. */
  async decode({ key, phase, data }: JournalEntry): Promise<FlowState> {
    const stored = parse(await this.#decrypt(key, data));
    if (stored?.version === version && stored.state?.phase === phase) return stored.state;
    throw unreadable(key);
  }

  async #decrypt(key: string, data: string): Promise<string> {
    if (this.#cipher === undefined) return data;
    try {
      return await this.#cipher.decrypt(data);
    } catch (cause) {
      throw unreadable(key, cause);
    }
  }
}

const version = 1;

function unreadable(key: string, cause?: unknown): CrossBorderError {
  return new CrossBorderError(
    `the journal's entry for key ${JSON.stringify(key)} can't be read: it was written with another cipher, by another program, or by a later version of this library`,
    { code: "flow_unreadable", cause },
  );
}

interface Stored {
  readonly version?: number;
  readonly state?: FlowState & { readonly phase: FlowPhase };
}

function parse(text: string): Stored | undefined {
  try {
    return Object(JSON.parse(text)) as Stored;
  } catch {
    return undefined;
  }
}
