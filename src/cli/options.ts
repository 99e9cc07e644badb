import { type Command, InvalidArgumentError as InvalidValue } from "commander";
import ms, { type StringValue } from "ms";
import { clock } from "../core/clock.js";
import { parseTime } from "../reconcile/options.js";
import type { Terminal } from "./terminal.js";

/** Adds examples to the help of a command, and a hint about connection options. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  const text = `\nExamples:\n${lines.map((line) => `  cross-border ${line}`).join("\n")}`;
  const usesConnection = lines.some((line) => line.includes("--config"));
  return command.addHelpText("after", usesConnection ? `${text}\n\n${connectionHint}` : text);
}

const connectionHint = "Connection options: cross-border help connection";

/** An action that gets the options, those of the program included, and the operands. */
export function action<Options extends object>(
  terminal: Terminal,
  run: (options: Options, terminal: Terminal, ...operands: string[]) => Promise<void> | void,
) {
  return (...given: readonly unknown[]): Promise<void> | void => {
    const command = given.at(-1) as Command;
    return run(command.optsWithGlobals<Options>(), terminal, ...(given.slice(0, -2) as string[]));
  };
}

// Parsers of option values. Commander names the option in front of what they throw.

/** A whole number from 1. */
export function parseCount(text: string): number {
  if (/^0*[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidValue("Give a whole number from 1.");
}

export function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidValue("Give a number from 1 to 65535.");
}

/** Milliseconds of a duration such as `30s` or `400d`. */
export function parseDuration(text: string): number {
  // Without a unit, ms reads milliseconds.
  const found = /^\d{1,9} ?[a-z]+$/i.test(text) ? ms(text as StringValue) : Number.NaN;
  if (found > 0) return found;
  throw new InvalidValue("Give a number and a unit (ms, s, m, h, or d), such as 30s or 400d.");
}

/** A day in UTC, `yesterday`, `today`, or a time with its zone. */
export function parseInstant(text: string): Date {
  const daysAgo = ["today", "yesterday"].indexOf(text);
  const day = daysAgo < 0 ? text : new Date(clock.wallMs() - daysAgo * 86_400_000).toISOString().slice(0, 10);
  const refuse = () =>
    new InvalidValue("Give a day such as 2026-01-31, yesterday, today, or a time such as 2026-01-31T00:00:00+03:00.");
  return new Date(parseTime("time", /^\d{4}-\d\d-\d\d$/.test(day) ? `${day}T00:00:00Z` : day, refuse));
}

/** Collects the values of an option that can be repeated. */
export function collect(text: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, text];
}
