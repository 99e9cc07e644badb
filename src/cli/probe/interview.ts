import { CrossBorderError } from "../../core/errors.js";
import { codeOf } from "../doctor/finding.js";
import type { Answer } from "./answer.js";
import { NoAnswer } from "./no-answer.js";
import type { Probe } from "./probe.js";
import type { Question } from "./question.js";

/** What came of one question. */
export interface Asked {
  readonly id: string;
  readonly asks: string;
  /** `open`: nothing can be said. `failed`: it broke off. `left out`: not asked. */
  readonly status: "answered" | "open" | "failed" | "left out";
  /** In words: the answer, or why there is none. */
  readonly says: string;
  readonly answer?: Answer;
  /** Ids of the requests that were sent for it, first and last. Samples that several questions share are of the first one. */
  readonly requests: readonly [first: string, last: string] | readonly [];
}

/** Asks one question. Rejects only where the user has ended it. */
export async function askQuestion(question: Question, probe: Probe): Promise<Asked> {
  const { id, asks } = question;
  const { prober } = probe;
  const most = mostRequests(question, probe.trials);
  if (most > prober.left) {
    const says = `it may take ${most} requests, and the budget has ${Math.max(0, prober.left)} left`;
    return { id, asks, status: "left out", says, requests: [] };
  }
  const before = prober.requests.length;
  const evidence = () => {
    const sent = prober.requests.slice(before);
    const [first, last] = [sent[0]?.id, sent.at(-1)?.id];
    return first === undefined || last === undefined ? ([] as const) : ([first, last] as const);
  };
  try {
    const answer = await probe.answer(question);
    return { id, asks, status: "answered", says: answer.says, answer, requests: evidence() };
  } catch (error) {
    if (prober.signal.aborted) throw error;
    const isOpen = error instanceof NoAnswer;
    // What nobody expected ends this question, and not the others.
    const says = isOpen || error instanceof CrossBorderError ? error.message : codeOf(error);
    return { id, asks, status: isOpen ? "open" : "failed", says, requests: evidence() };
  }
}

export function mostRequests({ requests, isPerTrial }: Question, trials: number): number {
  return requests * (isPerTrial ? trials : 1);
}
