import { coldStart } from "./cold-start.mjs";
import { flows } from "./flows.mjs";
import { manyRecords, sequentialCalls } from "./memory.mjs";

/** Rows other than CPU per call. Each returns the goals that it measured. */
export const otherRows = [
  { id: "records-heap", title: "live heap over many records", measure: manyRecords },
  { id: "cold-start", title: "cold start", measure: coldStart },
  { id: "memory-calls", title: "heap over many sequential calls", measure: sequentialCalls },
  { id: "flows", title: "flows over SQLite and PostgreSQL", measure: flows },
];
