export type { Figures } from "../simulation/run-schedule.js";
export {
  type SimulatedIntent,
  type SimulateFlowsOptions,
  type SimulationReport,
  simulateFlows,
} from "../simulation/simulate-flows.js";
export { type Counterexample, SimulationError } from "../simulation/simulation-error.js";
export type { Law } from "../simulation/truth.js";
export { BrokenLawError } from "./broken-law-error.js";
export { type FundsFunctions, type FundsReport, verifyFundsFunctions } from "./verify-funds-functions.js";
export { type JournalReport, type VerifyJournalOptions, verifyJournal } from "./verify-journal.js";
export { type TokenStoreReport, type VerifyTokenStoreOptions, verifyTokenStore } from "./verify-token-store.js";
