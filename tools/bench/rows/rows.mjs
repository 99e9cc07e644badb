import { coldStart } from "./cold-start.mjs";
import { flows } from "./flows.mjs";
import { handshakes } from "./handshakes.mjs";
import { overLink } from "./link.mjs";
import { callsAtOnce, manyRecords, sequentialCalls } from "./memory.mjs";
import { observing } from "./observers.mjs";
import { prefetching } from "./prefetch.mjs";
import { signatures } from "./signatures.mjs";
import { sizes } from "./size.mjs";
import { waitingForOneToken } from "./waiting.mjs";

/** Rows that are no comparison of CPU per call: each gives the goals it measured. */
export const otherRows = [
  { id: "signatures", title: "signatures a second, and the event loop", measure: signatures },
  { id: "records-heap", title: "live heap over many records", measure: manyRecords },
  { id: "prefetch", title: "prefetching pages", measure: prefetching },
  { id: "link", title: "a list over a narrow link", measure: overLink },
  { id: "handshakes", title: "handshakes of payments", measure: handshakes },
  { id: "cold-start", title: "cold start", measure: coldStart },
  { id: "waiting", title: "many calls waiting on one token", measure: waitingForOneToken },
  { id: "memory-at-once", title: "heap of 1,000 calls at once", measure: callsAtOnce },
  { id: "memory-calls", title: "heap over many sequential calls", measure: sequentialCalls },
  { id: "observers", title: "logger, hooks and OpenTelemetry, on and off", measure: observing },
  { id: "flows", title: "flows over SQLite and PostgreSQL", measure: flows },
  { id: "size", title: "sizes", measure: sizes },
];
