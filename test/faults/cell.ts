import type { KeyObject } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import { Agent, buildConnector } from "undici";
import { keyPairOf } from "../support/key-pairs.js";
import { type ClosedPort, openClosedPort } from "../wire/closed-port.js";
import { calls } from "./calls.js";
import { credentials, leaksIn, tokensOf, toldTo } from "./canaries.js";
import { certificates } from "./certificates.js";
import { type Expected, expectations, isTokenRequest, type Kind } from "./expectations.js";
import { capBytes, type Fault, longDeadlineMs, shortDeadlineMs } from "./faults.js";
import { type GroundTruth, type SeenRequest, startWireFaultServer, type WireFaultServer } from "./wire-fault-server.js";

/** Whether the fault hits every request, or only the first. */
export type Mode = "always" | "once";

/** What a matrix of faults shares. */
export interface Fixture {
  readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly closed: ClosedPort;
  close(): Promise<void>;
}

export async function openFixture(): Promise<Fixture> {
  certificates();
  // Loading takes time that no call should be charged for.
  await Promise.all([import("openid-client"), import("zod/v4/core")]);
  const closed = await openClosedPort();
  return {
    closed,
    keys: keyPairOf("gateway"),
    async close() {
      closed.close();
    },
  };
}

/** The outcome of one call, on both sides of the wire. */
export interface Observation {
  /** Of a call that succeeded. */
  readonly value: unknown;
  /** Of a call that failed. */
  readonly error: unknown;
  /** How late it settled, beyond its deadline or its caller's abort. */
  readonly latenessMs: number;
  /** Whole requests that reached the server with the fault, without those from before the call. */
  readonly seen: readonly SeenRequest[];
  /** Connections that were attempted, where they can be counted. */
  readonly connections: number | undefined;
  /** What the service received and did, whichever server has the fault. */
  readonly service: Pick<GroundTruth, "requests" | "commits" | "bytesReceived">;
  readonly tokenRequests: readonly SeenRequest[];
  /** The secrets that the error, the client, or an event shows. */
  readonly leaks: readonly string[];
  /** A later read on the same client: it has to get its own response. Only after a read that succeeded. */
  readonly laterRead: unknown;
}

export const laterId = "intent-later";

/**
 * One fault, one operation, one call: with its own servers and client. If the machine was too slow to reach the fault within the
 * call's deadline, or to finish what goes before the call while its token lived, nothing is proved: the cell is played again,
 * with more time.
 */
export async function playCell(fixture: Fixture, fault: Fault, kind: Kind, mode: Mode): Promise<Observation> {
  for (let times = 1; ; times *= 2) {
    const timeoutMs = timeoutOf(fault, kind, times);
    const played = await playOnce(fixture, { fault, kind, mode, timeoutMs, firstTokenMs: 50 * times });
    if ("observation" in played && played.isMet) return played.observation;
    if (times < 8) continue;
    if ("unprepared" in played) throw played.unprepared;
    return played.observation;
  }
}

/** The client closes connections that have been idle for longer than a little more than this, and does not meet what they would do. */
const longestIdleMs = 450;

interface Cell {
  readonly fault: Fault;
  readonly kind: Kind;
  readonly mode: Mode;
  readonly timeoutMs: number;
  /** How long the first token lives where the call is to meet an expired one. */
  readonly firstTokenMs: number;
}

type Played =
  /** `isMet`: the call can have met the fault before its deadline, and before the client closed the connection that has it. */
  | { readonly observation: Observation; readonly isMet: boolean }
  /** The error of what goes before the call. */
  | { readonly unprepared: unknown };

async function playOnce(fixture: Fixture, cell: Cell): Promise<Played> {
  const { fault, kind, timeoutMs } = cell;
  const { healthy, failing, atToken } = await startServers(cell);
  const network = await networkOf(fixture, fault, failing);
  const signing = stallableSigner(fixture, fault);
  const events: unknown[] = [];
  const client = buildClient(events, signing.signingKey, {
    baseUrl: atToken ? healthy.origin : network.origin,
    authUrl: atToken ? network.origin : healthy.origin,
    dispatcher: network.dispatcher,
  });
  try {
    const before = await goBefore(cell, client, failing, network.dispatcher).catch((unprepared: unknown) => ({
      unprepared,
    }));
    if ("unprepared" in before) return before;
    const startMs = performance.now();
    const reached = fault.phase === "signing" ? signing.called : failing.stalled;
    let isReached = !isOfDeadline(fault);
    void reached.then(() => {
      isReached = true;
    });
    const abort = abortIn(fault, reached);
    // As late as the client's own timers, on a machine that was too busy to run any.
    let endMs = Number.POSITIVE_INFINITY;
    const end = setTimeout(() => {
      endMs = performance.now();
    }, timeoutMs);
    const outcome = await outcomeOf(calls[kind](client, { timeoutMs, signal: abort?.signal }));
    clearTimeout(end);
    // A token request belongs to no call: what is sent after the call's end serves later calls.
    const seenAtEnd = failing.truth.requests.length;
    // Gives an unwanted retry or a late read time to appear.
    await sleep(30);
    const truth = (atToken ? healthy : failing).truth;
    const ofService = atToken ? { requests: 0, bytes: 0 } : before;
    const reads = kind === "read" && outcome.error === undefined;
    const observation = {
      value: outcome.value,
      error: outcome.error,
      latenessMs: outcome.settledMs - (abort?.atMs() ?? endMs),
      seen: failing.truth.requests.slice(before.requests, isTokenRequest(kind) ? seenAtEnd : undefined),
      connections: network.connections(before.connections),
      service: {
        requests: truth.requests.slice(ofService.requests),
        commits: truth.commits.slice(ofService.requests),
        bytesReceived: truth.bytesReceived - ofService.bytes,
      },
      tokenRequests: [...(atToken ? failing : healthy).truth.requests],
      leaks: leaksIn(outcome.error, client, ...events),
      laterRead: reads ? (await outcomeOf(client.paymentIntents.get(laterId))).value : undefined,
    };
    const idleMs = startMs - before.idleFromMs;
    return { observation, isMet: isReached && (fault.afterWell === undefined || idleMs < longestIdleMs) };
  } finally {
    await Promise.all([failing.close(), healthy.close()]);
    void network.dispatcher?.destroy();
    void client.close().catch(() => {});
  }
}

/** The server with the fault, as the service or as the identity server, and a healthy one as the other. */
async function startServers({ fault, kind, mode, firstTokenMs }: Cell): Promise<{
  readonly healthy: WireFaultServer;
  readonly failing: WireFaultServer;
  /** The fault is at the identity server. */
  readonly atToken: boolean;
}> {
  const response = rightResponse(fault, kind, firstTokenMs);
  const healthy = await startWireFaultServer({ response });
  const failing = await startWireFaultServer({
    response,
    play: fault.play,
    told: toldTo(kind),
    times: mode === "once" ? 1 : undefined,
    // A refresh needs a login before it.
    firstWell: kind === "refresh" && fault.afterWell === undefined,
    tls: typeof fault.tls === "function" ? fault.tls() : undefined,
  });
  return { healthy, failing, atToken: isTokenRequest(kind) || fault.phase === "token" };
}

function buildClient(
  events: unknown[],
  signingKey: NonNullable<ClientOptions["signingKey"]>,
  { baseUrl, authUrl, dispatcher }: { baseUrl: string; authUrl: string; dispatcher: Agent | undefined },
): CrossBorderClient {
  const hook = (event: unknown) => void events.push(event);
  return new CrossBorderClient({
    baseUrl,
    auth: { authUrl, realm: "realm", clientId: "client", ...credentials },
    signingKey,
    timeoutMs: longDeadlineMs,
    maxRetries: 2,
    maxResponseBytes: capBytes,
    dispatcher,
    on: { response: hook, failure: hook, mismatch: hook, retry: hook, token: hook },
  });
}

/** The caller's abort, some time after `reached`. */
function abortIn(
  fault: Fault,
  reached: Promise<void>,
): { readonly signal: AbortSignal; atMs(): number | undefined } | undefined {
  if (fault.abortAfterMs === undefined) return undefined;
  const controller = new AbortController();
  let atMs: number | undefined;
  void reached
    .then(() => sleep(fault.abortAfterMs))
    .then(() => {
      atMs = performance.now();
      controller.abort();
    });
  return { signal: controller.signal, atMs: () => atMs };
}

async function outcomeOf(call: PromiseLike<unknown>): Promise<{ value?: unknown; error?: unknown; settledMs: number }> {
  try {
    const value = await call;
    return { value, settledMs: performance.now() };
  } catch (error) {
    return { error, settledMs: performance.now() };
  }
}

const isOfDeadline = ({ is }: Fault): boolean => String(is).startsWith("deadline");

function timeoutOf(fault: Fault, kind: Kind, times: number): number {
  if (isOfDeadline(fault)) return shortDeadlineMs * times;
  if (!isTokenRequest(kind)) return longDeadlineMs;
  // Where a call waits for the identity server until its deadline, there is time for a few tries.
  const isAway = [fault.is].flat().every((name) => (expectations[name][kind] as Expected).untilDeadline === true);
  return isAway ? 2500 * times : longDeadlineMs;
}

/** The response of a healthy service: tokens at the token endpoint, and records that repeat what was sent. */
function rightResponse(fault: Fault, kind: Kind, firstTokenMs: number): (request: SeenRequest) => string {
  let tokenNumber = 0;
  return ({ target, body }) => {
    if (target.includes("/openid-connect/token")) {
      tokenNumber += 1;
      const given = tokensOf(tokenNumber);
      // Expires at once, so that the next call requests a token: by a refresh where it can.
      if (tokenNumber === 1 && (kind === "refresh" || (fault.afterWell !== undefined && kind === "login"))) {
        const { access_token, refresh_token } = given;
        const session = kind === "refresh" ? { refresh_token } : {};
        return JSON.stringify({ access_token, token_type: "Bearer", expires_in: firstTokenMs / 1000, ...session });
      }
      return JSON.stringify({ token_type: "Bearer", expires_in: 300, ...given });
    }
    const id = target.split(/[/?]/).at(2) ?? "made";
    return JSON.stringify({ ...(body === "" ? {} : (JSON.parse(body) as object)), id });
  };
}

/** Does what has to happen before the call, and returns what the failing server has seen by then. */
async function goBefore(
  { fault, kind, firstTokenMs }: Cell,
  client: CrossBorderClient,
  failing: WireFaultServer,
  dispatcher: Agent | undefined,
): Promise<{
  readonly requests: number;
  readonly connections: number;
  readonly bytes: number;
  readonly idleFromMs: number;
}> {
  let idleFromMs = performance.now();
  if (fault.afterWell !== undefined || kind === "refresh") {
    // Reads and writes have connections of their own.
    if (kind === "read" || isTokenRequest(kind)) await client.paymentIntents.get("intent-before");
    else await calls.update(client, {});
    idleFromMs = performance.now();
    if (fault.afterWell === "hurt") await failing.stalled;
    // Long enough for what was sent to the idle connection to be read, and for the token to expire.
    await sleep(isTokenRequest(kind) ? firstTokenMs + 70 : 60);
  }
  if (fault.phase === "queue") {
    dispatcher?.request({ origin: failing.origin, path: "/occupant", method: "GET" }).catch(() => {});
    await failing.stalled;
  }
  const { requests, connections, bytesReceived } = failing.truth;
  return { requests: requests.length, connections, bytes: bytesReceived, idleFromMs };
}

interface Network {
  readonly origin: string;
  readonly dispatcher: Agent | undefined;
  /** Those that were attempted, without those from before the call. */
  connections(before: number): number | undefined;
}

/** Where the client meets the fault. */
async function networkOf(fixture: Fixture, fault: Fault, failing: WireFaultServer): Promise<Network> {
  const accepted = (before: number) => failing.truth.connections - before;
  const uncounted = () => undefined;
  switch (fault.place) {
    case "closed port":
      return { origin: `http://127.0.0.1:${fixture.closed.port}`, dispatcher: undefined, connections: uncounted };
    case "no address":
      return brokenConnector("ENOTFOUND", 1);
    case "no name server":
      return brokenConnector("EAI_AGAIN", 1);
    case "slow connector":
      return brokenConnector("UND_ERR_CONNECT_TIMEOUT", 30);
    default:
  }
  if (fault.phase === "queue") {
    return {
      origin: failing.origin,
      dispatcher: agentLikeTheClients({ connections: 1 }),
      connections: uncounted,
    };
  }
  if (fault.tls === undefined) return { origin: failing.origin, dispatcher: undefined, connections: accepted };
  const origin = `https://127.0.0.1:${failing.port}`;
  if (fault.trusts === "nobody else") return { origin, dispatcher: undefined, connections: accepted };
  const connect = {
    ca: certificates().authority,
    ...(fault.clientTlsVersion && { maxVersion: fault.clientTlsVersion }),
  };
  return { origin, dispatcher: agentLikeTheClients({ connect }), connections: accepted };
}

const likeTheClients = { allowH2: false, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };

/** The client believes it when it says that a request hasn't started. */
function agentLikeTheClients(options: Agent.Options): Agent {
  return Object.assign(new Agent({ ...likeTheClients, ...options }), { showsStart: true });
}

/**
 * An unreachable host, simulated in the connector: a test can't rely on the machine's name servers, nor wait for a connection
 * to time out.
 */
function brokenConnector(code: string, afterMs: number): Network {
  const host = "service.invalid";
  const connect = buildConnector({});
  let connections = 0;
  const dispatcher = agentLikeTheClients({
    connect: (options, callback) => {
      if (options.hostname !== host) return connect(options, callback);
      connections += 1;
      setTimeout(() => callback(Object.assign(new Error(`connecting failed: ${code}`), { code }), null), afterMs);
    },
  });
  return { origin: `https://${host}`, dispatcher, connections: () => connections };
}

function stallableSigner(
  fixture: Fixture,
  fault: Fault,
): { readonly signingKey: NonNullable<ClientOptions["signingKey"]>; readonly called: Promise<void> } {
  if (fault.phase !== "signing") {
    return { signingKey: fixture.keys.privateKey, called: Promise.resolve() };
  }
  let called = (): void => {};
  const call = new Promise<void>((resolve) => {
    called = resolve;
  });
  const sign = (): Promise<string> => {
    called();
    return new Promise(() => {});
  };
  return { signingKey: { publicKey: fixture.keys.publicKey, sign }, called: call };
}
