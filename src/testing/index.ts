export { BrokenLawError } from "./laws.js";
export { type FundsFunctions, type FundsReport, verifyFundsFunctions } from "./verify-funds-functions.js";
export { type JournalReport, type VerifyJournalOptions, verifyJournal } from "./verify-journal.js";
export { type TokenStoreReport, type VerifyTokenStoreOptions, verifyTokenStore } from "./verify-token-store.js";
