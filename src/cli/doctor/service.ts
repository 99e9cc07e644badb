import { InvalidArgumentError } from "../../core/errors.js";
import { readConnection } from "../../settings/connection.js";
import { parseObject } from "../../wire/response.js";
import { readText } from "../files.js";
import { openClient, type Settings } from "../settings.js";
import { Exit, exitCodes, interruption, print, printJson, styled, type Terminal } from "../terminal.js";
import { printable, toJson, wrapped } from "../text.js";
import { type Answer, NoAnswer, questions, serviceOf } from "./questions.js";

export interface ServiceOptions {
  readonly wait: number;
  readonly baseline?: string;
  readonly json?: true;
}

/** What came of a question. Without a `value`, there is no answer, and `says` tells why. */
interface Asked extends Partial<Answer> {
  readonly id: string;
}

/** Asks every question, by reading requests only. What was seen is not a promise. */
export async function askService(settings: Settings, options: ServiceOptions, terminal: Terminal): Promise<void> {
  const { wait, baseline, json } = options;
  const earlier = baseline === undefined ? undefined : readBaseline(await readText(baseline, terminal), baseline);
  const way = await readConnection(settings, terminal.env);
  await using client = await openClient(settings, terminal);
  using stop = interruption();
  const service = serviceOf(client, settings.baseUrl, way, wait, stop.signal);
  // A login that fails is an error, and not the same missing answer ten times.
  await service.list();
  const asked: Asked[] = [];
  for (const [id, ask] of Object.entries(questions)) {
    const answer = await ask(service).catch((error: unknown) => {
      if (stop.signal.aborted) throw new Exit(exitCodes.interrupted);
      if (error instanceof NoAnswer) return { says: error.message };
      throw error;
    });
    asked.push({ id, ...answer });
    if (!json) showAsked({ id, ...answer }, terminal);
  }
  const pasted: Record<string, object> = {};
  for (const { settings: found = {} } of asked) {
    for (const [place, values] of Object.entries(found)) pasted[place] = { ...pasted[place], ...values };
  }
  const changes = earlier && asked.filter(({ id, value }) => isChanged(earlier.get(id), value)).map(({ id }) => id);
  if (json) printJson(terminal, { baseUrl: settings.baseUrl, questions: asked, settings: pasted, changes });
  else showSettings(pasted, changes, terminal);
  if (changes?.length) throw new Exit(exitCodes.checkFailed);
}

function showAsked({ id, value, says = sentence(value) }: Asked, terminal: Terminal): void {
  const mark = value === undefined ? styled(terminal, "dim", "?   ") : styled(terminal, "green", "ok  ");
  print(terminal, wrapped(`${mark}  ${styled(terminal, "bold", `${id}:`)} ${printable(says)}`, terminal.width));
}

function sentence(value: Asked["value"]): string {
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, word]) => `${name}: ${word}`)
    .join(", ");
}

function showSettings(settings: object, changes: readonly string[] | undefined, terminal: Terminal): void {
  const places = Object.entries(settings);
  print(terminal, "", places.length === 0 ? "No setting needs to change." : "Settings:");
  for (const [place, options] of places) print(terminal, `  ${place}: ${toJson(options)}`);
  print(terminal, "Only the service's operators can promise listedWithinMs, singleUseIntents, and tokensFollowTime.");
  if (changes === undefined) return;
  print(terminal, `Changed since the baseline: ${changes.join(", ") || "nothing"}`);
}

/** The values of an earlier run, by question. @throws {InvalidArgumentError} */
function readBaseline(text: string, file: string): ReadonlyMap<string, unknown> {
  const stored = parseObject(text)?.questions;
  if (!Array.isArray(stored)) throw new InvalidArgumentError(`${file} is not the output of doctor --service --json`);
  return new Map(stored.map((one: unknown) => [String(Object(one).id), Object(one).value]));
}

/** An answer that is missing on either side tells nothing. */
function isChanged(before: unknown, now: unknown): boolean {
  return before !== undefined && now !== undefined && JSON.stringify(before) !== JSON.stringify(now);
}
