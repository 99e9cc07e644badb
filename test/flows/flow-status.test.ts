import { expect, it, onTestFinished, vi } from "vitest";
import { CrossBorderError } from "../../src/errors/errors.js";
import { flowDetails } from "../../src/flows/flow-details.js";
import {
  countFlows,
  groundsOf,
  heldFlows,
  listFlows,
  type StoredFlows,
  toStatus,
} from "../../src/flows/flow-status.js";
import { countElsewhere, elsewhereError, findElsewhere } from "../../src/flows/flows-elsewhere.js";
import type { JournalEntry } from "../../src/flows/journal.js";
import { MemoryJournal } from "../../src/flows/memory-journal.js";
import { FlowCodec } from "../../src/flows/state/flow-codec.js";
import type { FlowFailures, FlowState, Look } from "../../src/flows/state/flow-state.js";

const scope = { service: "https://service.example", gateway: "alpha" };
const request = { senderGatewayId: "alpha", receiverGatewayId: "beta" } as FlowState["request"];
const intent = { id: "intent-1", senderAmount: "10.00", senderGatewayId: "alpha" } as Extract<
  FlowState,
  { phase: "quoted" }
>["intent"];
const failures = (count: number): FlowFailures => ({
  count,
  sinceMs: 1,
  atMs: 2,
  code: "connection_failed",
  message: "the bank is away",
});
const payable = { request, intent, since: null, claims: [], looks: [], decisions: [] };
const funded = { ...payable, senderGatewayTransactionId: "TX-1" };
const payment = { id: "payment-1" } as Extract<FlowState, { phase: "paid" }>["payment"];
const claim = { path: "/payments", body: "{}", signature: "s", epoch: 1, claimedAtMs: 1, sendByMs: 2 };

/** A journal with flows in it, and what reads them. */
function statusFixture() {
  const journal = new MemoryJournal();
  const codec = new FlowCodec(undefined, 900_000);
  const client = { signingKeyId: async () => undefined };
  const own = { service: scope.service };
  const context: StoredFlows = { journal, codec, scope: own, client };
  const lease = () => ({ owner: "process-1", leaseMs: 30_000, nonce: crypto.randomUUID() });
  const add = async (key: string, state: FlowState, in_ = scope) =>
    (await journal.begin(key, in_, await codec.encode(key, in_, state), lease())).entry;
  const addUnreadable = (key: string, phase: string) =>
    journal.begin(key, scope, { phase, settled: phase === "held", data: "?", evidence: "" }, lease());
  const statusOf = async (key: string) => {
    const entry = await journal.read(key);
    return entry === undefined ? undefined : toStatus(context, entry);
  };
  return { journal, codec, context, add, addUnreadable, statusOf };
}

const keyOf = (item: object) => Reflect.get(item, "key");

async function all<T>(flows: AsyncIterable<T>): Promise<{ readonly items: T[]; readonly error: unknown }> {
  const items: T[] = [];
  try {
    for await (const flow of flows) items.push(flow);
    return { items, error: undefined };
  } catch (error) {
    return { items, error };
  }
}

it("tells the phase of a flow, since when, and who has it", async () => {
  const { add, statusOf } = statusFixture();
  const entry = await add("order-1", { phase: "claimed", ...funded, claims: [claim], claim });
  expect(await statusOf("order-1")).toStrictEqual({
    key: "order-1",
    phase: "claimed",
    createdAtMs: entry.createdAtMs,
    sinceMs: entry.updatedAtMs,
    owner: "process-1",
    leaseUntilMs: entry.leaseUntilMs,
    intent,
  });
});

it("names no owner once the lease has ended, and tells the last failure", async () => {
  const { add, statusOf, journal } = statusFixture();
  const entry = await add("order-1", { phase: "funds-requested", ...payable, failures: failures(1) });
  await journal.release("order-1", entry);
  const status = await statusOf("order-1");
  expect(status).toMatchObject({ phase: "funds-requested", failures: { count: 1, code: "connection_failed" } });
  expect(status).not.toHaveProperty("owner");
});

it("has no intent before there is one", async () => {
  const { add, statusOf } = statusFixture();
  await add("order-1", { phase: "rejected", request, refusal });
  expect(await statusOf("order-1")).not.toHaveProperty("intent");
});

it("tells until when a quote holds", async () => {
  const { add, statusOf } = statusFixture();
  const entry = await add("order-1", { phase: "quoted", request, intent });
  expect(await statusOf("order-1")).toMatchObject({
    phase: "quoted",
    intent,
    expiresAtMs: entry.createdAtMs + 900_000,
    isExpired: false,
  });
});

it("has the outcome of a flow that has one", async () => {
  const { add, statusOf } = statusFixture();
  await add("order-1", { phase: "declined", request, intent });
  expect(await statusOf("order-1")).toMatchObject({
    phase: "declined",
    outcome: { status: "declined", key: "order-1" },
  });
});

it("still tells the phase of a flow that was pruned", async () => {
  const { add, statusOf, journal } = statusFixture();
  const entry = await add("order-1", { phase: "declined", request, intent });
  await journal.prune({ settledBeforeMs: entry.updatedAtMs + 60_000 });
  const status = await statusOf("order-1");
  expect(status).toMatchObject({ phase: "declined", prunedAtMs: expect.any(Number) });
  expect(status).not.toHaveProperty("intent");
});

it("tells nothing of another gateway's flow that was pruned", async () => {
  const { add, journal, context } = statusFixture();
  const { updatedAtMs } = await add("order-1", { phase: "declined", request, intent });
  await journal.prune({ settledBeforeMs: updatedAtMs + 60_000 });
  const { items } = await all(listFlows({ ...context, scope: { ...scope, gateway: "beta" } }, {}));
  expect(items).toEqual([]);
  const entry = await journal.read("order-1");
  if (entry === undefined) throw new Error("the flow is not there");
  const beta = { ...context, scope: { ...scope, gateway: "beta" } };
  await expect(toStatus(beta, entry)).rejects.toMatchObject({ code: "flow_foreign" });
});

it("tells of a flow that was begun with another key, while nobody has it, that it can't go on here", async () => {
  const { add, statusOf, context } = statusFixture();
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  context.client.signingKeyId = async () => "own";
  const { updatedAtMs, leaseUntilMs = 0 } = await add("new", {
    phase: "claimed",
    ...funded,
    claim,
    claims: [claim],
    keyId: "other",
  });
  await add("failing", { phase: "claimed", ...funded, claim, claims: [claim], keyId: "other", failures: failures(2) });
  await add("paid", { phase: "paid", ...funded, payment, keyId: "other" });
  vi.setSystemTime(leaseUntilMs - 1);
  expect([await statusOf("new"), (await statusOf("failing"))?.failures?.code]).toEqual([
    expect.not.objectContaining({ failures: expect.anything() }),
    "connection_failed",
  ]);
  vi.setSystemTime(leaseUntilMs);
  const foreign = { code: "flow_foreign", message: expect.stringContaining("another signing key") };
  expect(await statusOf("new")).toMatchObject({
    failures: { ...foreign, count: 0, sinceMs: updatedAtMs, atMs: updatedAtMs },
  });
  expect(await statusOf("failing")).toMatchObject({ failures: { ...foreign, count: 2, sinceMs: 1, atMs: 2 } });
  expect(await statusOf("paid")).not.toHaveProperty("failures");
});

it("lists flows by key, of all phases or of one, from a key on, whatever page they are on", async () => {
  const { add, context } = statusFixture();
  const keyOf = (index: number) => `order-${String(index).padStart(3, "0")}`;
  for (let index = 0; index < 250; index++) {
    const state: FlowState =
      index % 2 === 0 ? { phase: "quoted", request, intent } : { phase: "funds-requested", ...payable };
    await add(keyOf(index), state);
  }
  const keysOf = async (query: Parameters<typeof listFlows>[1]) =>
    (await all(listFlows(context, query))).items.map(({ key }) => key);
  expect(await keysOf({})).toEqual(Array.from({ length: 250 }, (_, index) => keyOf(index)));
  const quoted = await keysOf({ phase: "quoted" });
  expect([quoted.length, quoted[0], quoted.at(-1)]).toEqual([125, keyOf(0), keyOf(248)]);
  expect(await keysOf({ phase: "quoted", after: keyOf(244) })).toEqual([keyOf(246), keyOf(248)]);
});

it("leaves out the flows of another service", async () => {
  const { add, context } = statusFixture();
  await add("order-1", { phase: "quoted", request, intent }, { ...scope, service: "https://other.example" });
  expect((await all(listFlows(context, {}))).items).toEqual([]);
  expect((await countFlows(context)).quoted).toBe(0);
});

it("lists what is held, then what is stuck, and nothing that may still get further by itself", async () => {
  const { add, context } = statusFixture();
  const held = { phase: "held", ...funded, reason: "nobody knows", claims: [claim], claim } as const;
  await add("z-held", held);
  await add("a-stuck", { ...held, phase: "unknown", failures: failures(3) });
  await add("b-stuck", { phase: "funds-requested", ...payable, failures: failures(7) });
  await add("c-failing", { phase: "refused", ...funded, refusal, failures: failures(2) });
  await add("d-running", { phase: "funds-requested", ...payable });
  const { items, error } = await all(heldFlows(context));
  expect(error).toBeUndefined();
  expect(items.map((item) => [keyOf(item), item.status])).toEqual([
    ["z-held", "held"],
    ["b-stuck", "stuck"],
    ["a-stuck", "stuck"],
  ]);
  expect(items[1]).toStrictEqual({
    createdAtMs: expect.any(Number),
    sinceMs: expect.any(Number),
    status: "stuck",
    key: "b-stuck",
    phase: "funds-requested",
    failures: failures(7),
    intent,
    claims: [],
    looks: [],
    decisions: [],
  });
  expect(items[2]).toStrictEqual({
    createdAtMs: expect.any(Number),
    sinceMs: expect.any(Number),
    status: "stuck",
    key: "a-stuck",
    phase: "unknown",
    failures: failures(3),
    intent,
    senderGatewayTransactionId: "TX-1",
    claims: [claim],
    looks: [],
    decisions: [],
  });
});

it("names the flows that can't be read after all others", async () => {
  const { add, addUnreadable, context } = statusFixture();
  await addUnreadable("a", "held");
  await add("b", { phase: "held", ...funded, reason: "nobody knows", claims: [claim], claim });
  await addUnreadable("c", "claimed");
  const { items, error } = await all(heldFlows(context));
  expect(items.map(keyOf)).toEqual(["b"]);
  expect(error).toBeInstanceOf(AggregateError);
  const unreadable = (error as AggregateError).errors as CrossBorderError[];
  expect(unreadable.map(({ code, message }) => [code, /key "(.)"/.exec(message)?.[1]])).toEqual([
    ["flow_unreadable", "a"],
    ["flow_unreadable", "c"],
  ]);
  expect((error as AggregateError).message.split("\n")).toEqual(unreadable.map(({ message }) => message));
});

it("throws what the journal throws as it is", async () => {
  const { context } = statusFixture();
  const away = new CrossBorderError("the journal is away", { code: "journal_failed" });
  const journal = new MemoryJournal();
  journal.list = () => Promise.reject(away);
  expect((await all(heldFlows({ ...context, journal }))).error).toBe(away);
});

it("throws what is no error of a flow as it is", async () => {
  const { add, context } = statusFixture();
  await add("order-1", { phase: "claimed", ...funded, claim, claims: [claim], keyId: "other" });
  const bug = new TypeError("a bug");
  context.client.signingKeyId = () => Promise.reject(bug);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await all(listFlows(context, {}))).toEqual({ items: [], error: bug });
});

it("counts flows by phase, those that no flow is in with 0", async () => {
  const { add, context } = statusFixture();
  await add("1", { phase: "quoted", request, intent });
  await add("2", { phase: "quoted", request, intent });
  await add("3", { phase: "declined", request, intent });
  expect(await countFlows(context)).toEqual({
    quoted: 2,
    "funds-requested": 0,
    claimed: 0,
    unknown: 0,
    refused: 0,
    held: 0,
    paid: 0,
    declined: 1,
    rejected: 0,
    elsewhere: 0,
  });
});

it("adds up what is open and what is held of each gateway under each other base URL", async () => {
  const { add, context } = statusFixture();
  const old = { ...scope, service: "https://old.example" };
  const held = { phase: "held", ...funded, reason: "nobody knows", claims: [claim], claim } as const;
  await add("1", { phase: "funds-requested", ...payable }, old);
  await add("2", { phase: "claimed", ...funded, claims: [claim], claim }, old);
  await add("3", held, old);
  await add("4", held, { ...old, gateway: "beta" });
  await add("5", held);
  const found = await findElsewhere(context);
  expect(found).toEqual([
    { status: "elsewhere", ...old, open: 2, held: 1 },
    { status: "elsewhere", ...old, gateway: "beta", open: 0, held: 1 },
  ]);
  expect(await findElsewhere({ ...context, scope })).toEqual(found.slice(0, 1));
  expect(countElsewhere(found)).toBe(4);
  const [first] = found;
  expect(first && elsewhereError(first)).toMatchObject({
    ...{ code: "flow_elsewhere", effect: "possible" },
    message: expect.stringMatching(
      /https:\/\/old\.example, the journal has 2 open flows and 1 held flow of the gateway "alpha"/,
    ),
  });
});

it("has no empty lists in the details of a flow, and what was kept of one that was pruned", async () => {
  const { add, journal, context } = statusFixture();
  const detailsOf = async (key: string) => flowDetails(context, (await journal.read(key)) as JournalEntry);
  const { createdAtMs } = await add("open", { phase: "claimed", ...funded, claims: [claim], claim });
  expect(Object.keys(await detailsOf("open")).sort()).toEqual(
    [
      ...["claims", "createdAtMs", "intent", "isWaiting", "key", "leaseUntilMs", "owner", "phase", "seen"],
      ...["senderGatewayTransactionId", "sinceMs"],
    ].sort(),
  );
  await add("kept", { phase: "declined", request, intent });
  await journal.prune({ settledBeforeMs: createdAtMs + 60_000, keep: "evidence" });
  const { evidence, ...kept } = await detailsOf("kept");
  expect([kept.isWaiting, evidence]).toMatchObject([false, { key: "kept" }]);
  await add("bare", { phase: "declined", request, intent });
  await journal.prune({ settledBeforeMs: createdAtMs + 60_000 });
  const bare = await detailsOf("bare");
  expect(bare).toMatchObject({ key: "bare", isWaiting: false });
  expect(bare).not.toHaveProperty("evidence");
});

const refusal = { by: "service", status: 400, code: "refused", message: "refused" } as const;

it("shows a lookalike until a request was sent after it", () => {
  const lookalike = { id: "payment-1" } as NonNullable<Look["lookalike"]>;
  const looks = [{ atMs: 3, claims: 1, seen: 1, complete: true, lookalike }];
  const held = { phase: "held", ...funded, claim, claims: [claim], looks, reason: "nobody knows" } as const;
  expect(groundsOf(held)).toMatchObject({ lookalike });
  expect(groundsOf({ ...held, claims: [claim, claim] })).not.toHaveProperty("lookalike");
});
