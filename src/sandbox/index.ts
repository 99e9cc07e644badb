/**
 * The described service in memory, for tests and for trying things out: a function of requests, a server on loopback,
 * and handlers for MSW. What it had to invent for what the description leaves open is listed in `docs/sandbox.md`.
 *
 * @module
 */
export type { Account, AccountDirectory } from "./account-directory.js";
export type { StoredRecords } from "./ledger.js";
export { type MswHandlersOptions, type MswHttp, type MswResolver, mswHandlers } from "./msw-handlers.js";
export type { SandboxQuirks } from "./quirks.js";
export {
  createSandbox,
  type LoggedRequest,
  type Sandbox,
  type SandboxClientOptions,
  type SandboxWire,
} from "./sandbox.js";
export type { SandboxCredentials, SandboxOptions, SandboxRequest } from "./sandbox-options.js";
export type { TokenRequest } from "./sandbox-tokens.js";
export { type SandboxConsoleOptions, type SandboxServer, type SandboxServerOptions, startSandbox } from "./server.js";
