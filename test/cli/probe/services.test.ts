import { afterAll, expect, it } from "vitest";
import { questions } from "../../../src/cli/probe/questions.js";
import { openProbe, valuesOf } from "./probe-fixture.js";
import { probedServices, rightAnswers } from "./right-answers.js";

const [payments, patienceMs] = [12, 4000];

const probed = Object.entries(probedServices);

interface Figures {
  readonly questions: number;
  readonly right: number;
  readonly open: number;
  readonly wrong: number;
  readonly requests: number;
  readonly seconds: number;
}

const figures: Record<string, Figures> = {};
const seen = new Map<string, Set<string>>();

afterAll(() => {
  // `CBP_THOROUGH=1 CBP_FIGURES=1 npx vitest run test/cli/probe/services.test.ts` prints them.
  if (process.env.CBP_FIGURES !== undefined) console.table(figures);
  const always = [...seen].filter(([, answers]) => answers.size < 2).map(([id]) => id);
  expect(always, "questions that had one answer only").toEqual([]);
});

it.concurrent.each(probed)("finds out all about a service: %s", async (name, options) => {
  await using fixture = await openProbe(options, payments);
  const line = ["--patience", `${patienceMs}ms`, "--trials", "2", "--budget", "900", ...fixture.writes];
  const { code, report } = await fixture.probe(line);
  const values = valuesOf(report);
  const right = rightAnswers(options, payments, patienceMs);
  expect(code).toBe(0);
  const wrong = questions.filter(({ id }) => !matches(values[id], right[id])).map(({ id }) => id);
  const open = report.questions.filter(({ status }) => status !== "answered").length;
  figures[name] = {
    ...{ questions: questions.length, right: questions.length - wrong.length - open, open, wrong: wrong.length },
    ...{ requests: report.requests.sent, seconds: report.seconds },
  };
  for (const { id } of questions) seen.set(id, (seen.get(id) ?? new Set()).add(JSON.stringify(values[id])));
  expect(Object.fromEntries(wrong.map((id) => [id, values[id]]))).toEqual(
    Object.fromEntries(wrong.map((id) => [id, right[id]])),
  );
  expect(Object.keys(right).sort()).toEqual(questions.map(({ id }) => id).sort());
});

function matches(value: unknown, right: unknown): boolean {
  try {
    expect(value).toEqual(right);
    return true;
  } catch {
    return false;
  }
}
