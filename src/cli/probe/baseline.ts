import { InvalidArgumentError } from "../../core/errors.js";
import { parseObject } from "../../wire/response.js";
import type { Value } from "./answer.js";
import type { Question } from "./question.js";
import type { ReportedQuestion } from "./report.js";

/** One answer that is not what it was. */
export interface Change {
  readonly id: string;
  readonly before: string;
  readonly now: string;
}

type EarlierQuestion = Pick<ReportedQuestion, "id" | "says"> & { readonly value?: Value };

/** The answers of an earlier run. @throws {InvalidArgumentError} where the text is no report. */
export function parseBaseline(text: string, file: string): readonly EarlierQuestion[] {
  const stored = parseObject(text)?.questions;
  const isEarlier = (one: unknown): one is EarlierQuestion =>
    typeof Object(one).id === "string" && typeof Object(one).says === "string";
  if (Array.isArray(stored) && stored.every(isEarlier)) return stored;
  throw new InvalidArgumentError(`${file} is not what probe --json writes`);
}

/** What differs. A question that was not asked either time says nothing. */
export function changesSince(
  earlier: readonly EarlierQuestion[],
  now: readonly ReportedQuestion[],
  questions: readonly Question[],
): readonly Change[] {
  return earlier.flatMap(({ id, says, value: before }) => {
    const asked = now.find((one) => one.id === id);
    const isChanged = questions.find((one) => one.id === id)?.isChanged ?? differs;
    if (before === undefined || asked === undefined || asked.status === "left out") return [];
    const isSame = asked.value !== undefined && !isChanged(before, asked.value);
    return isSame
      ? []
      : [{ id, before: says, now: `${asked.value === undefined ? `${asked.status}: ` : ""}${asked.says}` }];
  });
}

/** Of JSON values, whatever the order of their fields. */
function differs(before: Value, now: Value): boolean {
  return canonical(before) !== canonical(now);
}

function canonical(value: Value): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
