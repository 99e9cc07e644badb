/**
 * The described service in memory, for tests and for trying things out: a function of requests, a server on loopback,
 * and handlers for MSW. `docs/sandbox.md` lists what the description leaves open and the sandbox decides.
 *
 * @module
 */
export { type MswHandlersOptions, type MswHttp, type MswResolver, mswHandlers } from "./msw-handlers.js";
export type {
  SandboxCredentials,
  SandboxOptions,
  SandboxQuirks,
  SandboxRequest,
  SandboxThrottle,
} from "./options.js";
export {
  createSandbox,
  type LoggedRequest,
  type Sandbox,
  type SandboxClientOptions,
  type SandboxWire,
} from "./sandbox.js";
export { type SandboxConsoleOptions, type SandboxServer, type SandboxServerOptions, startSandbox } from "./server.js";
export type { Account, AccountDirectory, StoredRecords } from "./store.js";
export type { TokenRequest } from "./tokens.js";
