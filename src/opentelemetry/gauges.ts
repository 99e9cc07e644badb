import type { TokenHold } from "../api/api-client.js";
import type { FlowGauges, StoredGauges } from "../flows/status.js";

/** What is read for one collection. Without a flow, only the client is known. */
export interface Reading {
  readonly flow?: FlowGauges;
  readonly tokenHold?: TokenHold | undefined;
}

export interface Gauge {
  readonly name: string;
  /** Absent of what is 0 or 1: some exporters make a suffix of a unit of 1. */
  readonly unit?: string;
  readonly description: string;
  /** What is known of it now, if anything is. */
  readonly points: (reading: Reading) => readonly Point[];
}

interface Point {
  readonly value: number;
  readonly attributes?: Readonly<Record<string, string>>;
}

export const gauges: readonly Gauge[] = [
  {
    name: "cross_border.flow.count",
    unit: "{flow}",
    description: "Flows in each phase, of all processes",
    points: ofJournal(({ phases }) => pointsOf("cross_border.flow.phase", phases)),
  },
  {
    name: "cross_border.flow.oldest.age",
    unit: "s",
    description: "Time since the oldest flow that is in a phase was begun, of phases in which it waits for something",
    points: ofJournal(({ oldestMs }) =>
      pointsOf("cross_border.flow.phase", oldestMs).map((point) => ({ ...point, value: point.value / 1000 })),
    ),
  },
  {
    name: "cross_border.flow.attention",
    unit: "{flow}",
    description: "Flows that wait for an operator, by the reason",
    points: ofJournal(({ phases: { held }, elsewhere }) => pointsOf("cross_border.flow.reason", { held, elsewhere })),
  },
  {
    name: "cross_border.flow.unowned",
    unit: "{flow}",
    description: "Open flows that no process has, and that work of some process is to take over",
    points: ofJournal(({ unowned }) => [{ value: unowned }]),
  },
  {
    name: "cross_border.work.flows",
    unit: "{flow}",
    description: "Flows that this process has taken over and that have not ended",
    points: ofProcess(({ work }) => work.flows),
  },
  {
    name: "cross_border.work.queued",
    unit: "{flow}",
    description: "Flows that this process has taken over and that wait for a place to go on",
    points: ofProcess(({ work }) => work.queued),
  },
  {
    name: "cross_border.circuit_breaker.open",
    description: "1 while this process takes no money, since one payment after the other ended unknown",
    points: ofProcess(({ isCircuitOpen }) => Number(isCircuitOpen)),
  },
  {
    name: "cross_border.journal.readable",
    description: "0 where the journal could not be read for these metrics: what it said before may be exported on",
    points: ofProcess(({ stored }) => Number(stored !== undefined)),
  },
  {
    name: "cross_border.token.held",
    description: "1 while the client requests no token, because of what the last request for one came to",
    points: ({ tokenHold }) => [{ value: Number(tokenHold !== undefined) }],
  },
];

/** Nothing, where the journal could not be read. */
function ofJournal(points: (stored: StoredGauges) => readonly Point[]): Gauge["points"] {
  return ({ flow }) => (flow?.stored === undefined ? [] : points(flow.stored));
}

function ofProcess(value: (flow: FlowGauges) => number): Gauge["points"] {
  return ({ flow }) => (flow === undefined ? [] : [{ value: value(flow) }]);
}

function pointsOf(attribute: string, values: Readonly<Record<string, number>>): readonly Point[] {
  return Object.entries(values).map(([name, value]) => ({ value, attributes: { [attribute]: name } }));
}
