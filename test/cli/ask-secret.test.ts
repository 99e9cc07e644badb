import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { askSecret } from "../../src/cli/ask-secret.js";

/** A terminal's input whose modes are kept. */
class FakeInput extends PassThrough {
  readonly modes: boolean[] = [];

  setRawMode(isRaw: boolean): void {
    this.modes.push(isRaw);
  }
}

async function asked(...keys: readonly (string | Uint8Array)[]) {
  const [input, output] = [new FakeInput(), new PassThrough()];
  for (const key of keys) input.write(key);
  const secret = await askSecret("Password: ", input, output).catch((error: Error) => error.name);
  output.end();
  return { secret, shown: await text(output), modes: input.modes, input };
}

it("shows the question alone, and gives the terminal back", async () => {
  const { secret, shown, modes } = await asked("s3cret\r");
  expect({ secret, shown, modes }).toEqual({ secret: "s3cret", shown: "Password: \n", modes: [true, false] });
});

it.each<[how: string, wanted: string | undefined, keys: readonly (string | Uint8Array)[]]>([
  ["typed key by key", "abc", ["a", "b", "c", "\n"]],
  ["with a backspace", "ac", ["ab", "\x7f", "c\r"]],
  ["with more backspaces than characters", "x", ["a\x7f\x7f\x7fx\r"]],
  ["with an accent of its own, deleted with its letter", "a", ["ae\u0301\x7f\r"]],
  ["with a character of two units, deleted", "a", ["a😀\x7f\r"]],
  [
    "with characters that arrive in halves",
    "ä€",
    [Buffer.from([0xc3]), Buffer.from([0xa4, 0xe2, 0x82]), Buffer.from([0xac]), "\r"],
  ],
  ["begun anew by Ctrl-U", "new", ["old\x15new\r"]],
  ["with arrows and other keys that are no text", "ab", ["a\x1b[D\x1bOC\x1b[3~\x1b[1;5Cb\x00\x0c\x1a\r"]],
  ["with such a key in two parts", "ab", ["a\x1b", "[", "1;5", "Cb\r"]],
  ["pasted between marks, with spaces", " p w ", ["\x1b[200~ p w \x1b[201~\r"]],
  ["with the escape key in front of the end", "a", ["a\x1b", "\r"]],
  ["with Ctrl-D behind something", "ab", ["a\x04b\r"]],
  ["not at all", undefined, ["\r"]],
  ["by Ctrl-D", undefined, ["\x04"]],
])("takes a secret %s", async (_, wanted, keys) => {
  const { secret, modes } = await asked(...keys);
  expect({ secret, modes }).toEqual({ secret: wanted, modes: [true, false] });
});

it("ends by Ctrl-C, and gives the terminal back", async () => {
  const { secret, shown, modes } = await asked("abc\x03");
  expect({ secret, shown, modes }).toEqual({ secret: "Interrupted", shown: "Password: \n", modes: [true, false] });
});

it("ends where the input does", async () => {
  const [input, output] = [new FakeInput(), new PassThrough()];
  input.end("half");
  expect(await askSecret("Password: ", input, output)).toBe(undefined);
  expect(input.modes).toEqual([true, false]);
});

it.each(["\r", "\n", "\r\n"])("keeps what was pasted behind %j for the next question", async (end) => {
  const { secret, input } = await asked(`one${end}two${end}`);
  expect(secret).toBe("one");
  expect(await askSecret("Passphrase: ", input, new PassThrough())).toBe("two");
});
