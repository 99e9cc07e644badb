import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** A terminal's input, of which each key can be read. */
export interface KeyInput extends Readable {
  setRawMode(isRaw: boolean): unknown;
}

/** Thrown when the user interrupts the command. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * Asks for a secret, of which nothing is shown. The terminal is as it was before, however it ends.
 *
 * @returns what was typed or pasted, up to the end of the line; undefined where it was nothing, or the input ended.
 * @throws {Interrupted} on Ctrl-C.
 */
export async function askSecret(question: string, input: KeyInput, output: Writable): Promise<string | undefined> {
  // Before the question: what is typed as soon as it is there would be shown otherwise.
  input.setRawMode(true);
  try {
    output.write(question);
    const line = await readLine(input);
    return line === "" ? undefined : line;
  } finally {
    input.setRawMode(false);
    output.write("\n");
  }
}

function readLine(input: Readable): Promise<string> {
  const decoder = new StringDecoder("utf8");
  const line = new SecretLine();
  return new Promise<string>((resolve, reject) => {
    const stop = (settle: () => void) => {
      input.off("data", onData).off("end", onEnd).off("error", onError).pause();
      settle();
    };
    const onData = (bytes: Buffer | string) => {
      const text = typeof bytes === "string" ? bytes : decoder.write(bytes);
      const { state, rest } = line.type(text);
      if (state === "more") return;
      stop(state === "interrupted" ? () => reject(new Interrupted()) : () => resolve(line.text));
      // What was pasted after the line answers the next question.
      if (rest !== "") input.unshift(rest);
    };
    const onEnd = () => stop(() => resolve(""));
    const onError = (error: Error) => stop(() => reject(error));
    input.on("data", onData).once("end", onEnd).once("error", onError);
    input.resume();
  });
}

interface Typed {
  readonly state: "more" | "done" | "interrupted";
  readonly rest: string;
}

class SecretLine {
  text = "";
  /** The beginning of a sequence that some key sends, such as an arrow. */
  #sequence = "";

  type(keys: string): Typed {
    let rest = keys;
    while (rest !== "") {
      const key = String.fromCodePoint(rest.codePointAt(0) ?? 0);
      rest = rest.slice(key.length);
      if (this.#isInSequence(key)) continue;
      const state = this.#press(key);
      // Pasted text can end its lines by both.
      if (state === "done" && key === "\r" && rest.startsWith("\n")) rest = rest.slice(1);
      if (state !== "more") return { state, rest };
    }
    return { state: "more", rest };
  }

  #press(key: string): Typed["state"] {
    if (key === "\r" || key === "\n") return "done";
    if (key === "\x03") return "interrupted";
    if (key === "\x04") return this.text === "" ? "done" : "more";
    if (key === "\x7f" || key === "\b") this.text = withoutLast(this.text);
    else if (key === "\x15") this.text = "";
    else if (!/\p{Cc}/u.test(key)) this.text += key;
    return "more";
  }

  /** ECMA-48: ESC [, parameters, one last character; or ESC O and one character; or ESC and one character. */
  #isInSequence(key: string): boolean {
    if (key === "\x1b") {
      this.#sequence = key;
      return true;
    }
    if (this.#sequence === "") return false;
    // These count after the escape key, too.
    if (/\p{Cc}/u.test(key)) {
      this.#sequence = "";
      return false;
    }
    const isFirst = this.#sequence === "\x1b";
    this.#sequence += key;
    const isOver = isFirst ? !/[[O]/.test(key) : this.#sequence[1] === "O" || /[@-~]/.test(key);
    if (isOver) this.#sequence = "";
    return true;
  }
}

/** One character as people see it: an accent is not deleted by itself. */
function withoutLast(text: string): string {
  return [...new Intl.Segmenter().segment(text)]
    .slice(0, -1)
    .map(({ segment }) => segment)
    .join("");
}
