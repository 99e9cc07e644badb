import { counted } from "../../core/describe.js";
import { printable, toJson } from "../printable.js";
import { readVersion } from "../version.js";
import type { Settings, Value } from "./answer.js";
import type { Asked } from "./interview.js";
import type { Made } from "./payments.js";
import type { Prober, SentRequest } from "./prober.js";
import type { Question } from "./question.js";

export interface ReportedQuestion {
  readonly id: string;
  readonly asks: string;
  readonly measuredBy: string;
  readonly status: Asked["status"];
  readonly says: string;
  readonly value?: Value;
  readonly trials?: number;
  readonly sure?: string;
  readonly toAsk?: string;
  /** The first and the last request that was sent for it. */
  readonly requests: readonly string[];
  /** The times of these. */
  readonly times: readonly string[];
}

export interface Report {
  readonly tool: string;
  readonly baseUrl: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly isInterrupted: boolean;
  readonly writes: boolean;
  readonly requests: { readonly sent: number; readonly budget: number };
  readonly questions: readonly ReportedQuestion[];
  readonly settings: SettingsByPlace;
  readonly made: readonly Made[];
  readonly evidence: readonly SentRequest[];
}

type SettingsByPlace = Readonly<Record<string, Readonly<Record<string, Value>>>>;

export interface Probed {
  readonly asked: readonly (Asked & { readonly question: Question })[];
  readonly prober: Prober;
  readonly made: readonly Made[];
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly budget: number;
  readonly isInterrupted: boolean;
  readonly writes: boolean;
}

export function reportOf(probed: Probed): Report {
  const { prober, asked, made, startedAtMs, endedAtMs, budget, isInterrupted, writes } = probed;
  const times = new Map(prober.requests.map(({ id, at }) => [id, at]));
  return {
    tool: `cross-border-payments ${readVersion()}`,
    baseUrl: prober.baseUrl.origin + prober.baseUrl.path,
    startedAt: new Date(startedAtMs).toISOString(),
    seconds: Math.round((endedAtMs - startedAtMs) / 100) / 10,
    ...{ isInterrupted, writes },
    requests: { sent: prober.requests.length, budget },
    questions: asked.map(({ question, answer, ...one }) => ({
      ...{ id: one.id, asks: one.asks, measuredBy: question.measuredBy, status: one.status, says: one.says },
      ...(answer && { value: answer.value, trials: answer.trials, sure: sureness(answer.trials) }),
      ...(answer?.toAsk !== undefined && { toAsk: answer.toAsk }),
      requests: one.requests,
      times: one.requests.map((id) => times.get(id) ?? ""),
    })),
    settings: settingsOf(asked.flatMap(({ answer }) => answer?.settings ?? [])),
    made,
    evidence: prober.requests,
  };
}

/** What was seen can't be more than that. */
function sureness(trials: number): string {
  return `not refuted in ${counted(trials, "trial")}`;
}

/** All settings beside each other; where several questions give one, the largest. */
function settingsOf(all: readonly Settings[]): SettingsByPlace {
  const merged: Record<string, Record<string, Value>> = {};
  for (const settings of all) {
    for (const [place, values] of Object.entries(settings)) {
      const known = merged[place] ?? {};
      merged[place] = known;
      for (const [name, value] of Object.entries(values as Record<string, Value>)) {
        const other = known[name];
        known[name] = typeof other === "number" && typeof value === "number" ? Math.max(other, value) : value;
      }
    }
  }
  const { clockSkewMs, ...flow } = merged.flow ?? {};
  if (clockSkewMs !== undefined) merged.flow = { ...flow, service: { clockSkewMs } };
  return merged;
}

const places: Readonly<Record<string, string>> = {
  list: "Options of lists: `client.payments.list({ … })`; `cursor` is a function, for lists other than payments",
  flow: "Options of `createPaymentFlow`",
  connections:
    "Options of an undici `Agent` of your own, as the client's `dispatcher`; the client's own agent needs none",
};

/** Whether a text is what `toMarkdown` made of a report, as far as its title says. */
export function isPage(text: string): boolean {
  return /^# What \S+ does\n/.test(text);
}

/** The page for people. */
export function toMarkdown(report: Report): string {
  const { baseUrl, startedAt, seconds, requests, questions, settings, made, writes, isInterrupted } = report;
  const answered = questions.filter(({ status }) => status === "answered");
  const others = questions.filter(({ status }) => status !== "answered");
  const toAsk = questions.flatMap(({ id, toAsk: text }) => (text === undefined ? [] : `- ${id}: ${text}`));
  const lines = [
    `# What ${baseUrl} does`,
    "",
    `${report.tool}, from ${startedAt}, ${seconds} s, ${requests.sent} of ${requests.budget} requests; ${writes ? "it made intents and payments" : "it read only"}.`,
    ...(isInterrupted ? ["", "**It was ended before it was done.**"] : []),
    "",
    "What was seen is not a promise: each answer says how often it was tried, and which requests show it. They are listed by `--json`.",
    "",
    ...table(["question", "answer", "how sure", "requests"], answered.map(rowOf)),
    ...section(
      "Not answered",
      others.length === 0
        ? []
        : table(
            ["question", "why"],
            others.map((one) => [one.id, `${one.status}: ${one.says}`]),
          ),
    ),
    ...Object.entries(settings).flatMap(([place, values]) =>
      section(`Settings: ${place}`, [`${places[place] ?? ""}:`, "", "```json", toJson(values, { indent: 2 }), "```"]),
    ),
    ...section("To ask the service's operators", toAsk),
    ...section("What was made", madeLines(made)),
  ];
  return `${lines.join("\n")}\n`;
}

export function madeLines(made: readonly Made[]): readonly string[] {
  return made.map(({ kind, id, senderGatewayTransactionId: transaction, state, request }) => {
    const named = [id, transaction && `transaction ${transaction}`].filter((text) => text !== undefined).join(", ");
    const outcome = state === "unknown" ? "sent, and not known what came of it" : state;
    return `- ${kind} ${printable(named === "" ? "without an id" : named)}: ${outcome} (${request})`;
  });
}

function rowOf({ id, asks, says, sure = "", requests, times }: ReportedQuestion): readonly string[] {
  const [first = "", last = first] = requests;
  const [from = "", to = from] = times;
  const span = first === "" ? "shared" : `${first} to ${last}, ${from.slice(11, 19)} to ${to.slice(11, 19)}`;
  return [`**${id}** ${asks}`, says, sure, span];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => printable(cell).replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)];
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", `## ${title}`, "", ...lines];
}
