import { randomBytes } from "node:crypto";
import type { Journal, JournalEntry, PaymentFlow, PaymentFlowOptions } from "cross-border-payments/flow";
import { MemoryJournal } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import pg from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { checkMove } from "../../src/flows/move-flows.js";
import { newFile, nodeSqlite, openSqliteJournal } from "../journals/sqlite-fixture.js";
import { eventually } from "../support/eventually.js";
import { boundJournal } from "./bound-journal.js";
import { brief, cipher, closed, flowFixture, isList, isPayment, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

const oldUrl = "https://old.test";
const newUrl = "https://service.test";
const from = { service: oldUrl };
const gatewayId = request.senderGatewayId;
const decision = { by: "Olga Operator", why: "the back office looked" };

const postgresUrl = process.env.CBP_POSTGRES_URL ?? "";

async function openPostgres(): Promise<Journal> {
  const schema = `moves_${randomBytes(6).toString("hex")}`;
  const journal = await PostgresJournal.open(postgresUrl, { schema });
  onTestFinished(async () => {
    await journal.close();
    const client = new pg.Client(postgresUrl);
    await client.connect();
    await client.query(`DROP SCHEMA ${schema} CASCADE`);
    await client.end();
  });
  return journal;
}

const journals = [
  { name: "memory", open: async (): Promise<Journal> => new MemoryJournal(), isHere: true },
  { name: "SQLite", open: (): Promise<Journal> => openSqliteJournal(newFile()), isHere: nodeSqlite !== undefined },
  { name: "PostgreSQL", open: openPostgres, isHere: postgresUrl !== "" },
];

/** A service that was reached under another base URL before, with the same paths unless `basePath` says otherwise. */
async function movedFixture(
  given: Promise<Journal> | Journal = new MemoryJournal(),
  basePath = "",
  defaults: Partial<PaymentFlowOptions> = {},
) {
  const journal = await given;
  /** What becomes of payments that are sent, and whether the old address lists them. */
  const fate = { areLost: false, isOldEmpty: false, isNewEmpty: false, beforeOldList: Promise.resolve() };
  const fixture = await flowFixture(
    {
      basePath,
      onRequest: (seen) => {
        if (isList(seen) && fate.isNewEmpty) return Response.json([]);
        return isPayment(seen) && fate.areLost ? Response.error() : undefined;
      },
    },
    defaults,
  );
  const old = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    if (pathname !== "/payments") return fixture.sandbox.fetch(inService(url), init);
    if (init?.method === "POST") return fate.areLost ? Response.error() : fixture.sandbox.fetch(url, init);
    await fate.beforeOldList;
    return fate.isOldEmpty ? Response.json([]) : fixture.sandbox.fetch(inService(url), init);
  };
  const inService = (url: string | URL | Request) => String(url).replace(`${oldUrl}/`, `${newUrl}${basePath}/`);
  const common = { journal, gatewayId };
  return {
    ...fixture,
    journal,
    fate,
    atOld: (options: Partial<PaymentFlowOptions> = {}): PaymentFlow =>
      fixture.flow({ ...common, ...options }, { baseUrl: oldUrl, fetch: old }),
    atNew: (options: Partial<PaymentFlowOptions> = {}): PaymentFlow => fixture.flow({ ...common, ...options }),
  };
}

type Fixture = Awaited<ReturnType<typeof movedFixture>>;

/** A flow under the old base URL that is paid, one that is declined, one that was stopped, and one that is held: its request was lost. */
async function begin({ atOld, fate }: Fixture, options: Partial<PaymentFlowOptions> = {}): Promise<void> {
  expect(await atOld(options).run("paid", request)).toMatchObject({ status: "paid" });
  const declining = atOld({ ...options, takeFunds: () => null });
  expect(await declining.run("declined", request)).toMatchObject({ status: "declined" });
  await errorOf(atOld({ ...options, takeFunds: closed }).run("open", request));
  fate.areLost = true;
  expect(await atOld(options).run("held", request)).toMatchObject({ status: "held" });
  fate.areLost = false;
}

const keys = ["declined", "held", "open", "paid"];
const phasesAt = async (journal: Journal, service: string) =>
  (await journal.list({ scope: { service }, limit: 100 })).map(({ key, phase }) => `${key} ${phase}`);

describe.each(journals)("flows in a journal of $name", ({ open, isHere }) => {
  it.skipIf(!isHere)("are seen under a new base URL before they move, and go on as they were after it", async () => {
    const fixture = await movedFixture(open(), "", brief);
    const { journal, atNew, sandbox, bank } = fixture;
    await begin(fixture, { cipher });
    const found = { service: oldUrl, gateway: gatewayId, open: 1, held: 1 };
    expect(await all(atNew({ cipher }).held())).toEqual([{ status: "elsewhere", ...found }]);
    expect(await atNew({ cipher }).counts()).toMatchObject({ held: 0, elsewhere: 2 });
    expect(await all(atNew({ cipher }).recover())).toEqual([]);

    const report = await atNew({ cipher }).move({ from: { service: `${oldUrl}/` } });
    expect(report).toEqual({ moved: 4, leased: [], quoted: [], failed: [], isStopped: false });
    expect(await phasesAt(journal, oldUrl)).toEqual([]);
    const moved = { service: newUrl, gateway: gatewayId, open: 1, held: 1, paid: 1, flows: 4 };
    expect(await journal.scopes()).toEqual([moved]);
    const again = await atNew({ cipher }).move({ from });
    expect(again).toMatchObject({ moved: 0, failed: [] });

    const taken = bank.taken.size;
    const flow = atNew({ cipher });
    expect(await flow.run("paid", request)).toMatchObject({ status: "paid" });
    expect(await flow.run("declined", request)).toMatchObject({ status: "declined" });
    expect(await flow.run("held", request)).toMatchObject({ status: "held" });
    expect([bank.taken.size, sandbox.payments.length]).toEqual([taken, 1]);
    expect(await all(flow.held())).toMatchObject([{ status: "held", key: "held" }]);
    expect(await all(atNew({ cipher, leaseMs: 60_000 }).recover())).toMatchObject([{ key: "open", status: "paid" }]);
    expect(sandbox.payments).toHaveLength(2);
    // What is stored names the new scope too: nobody can move a row by its columns alone.
    for (const key of keys) expect(cipher.decrypt((await journal.read(key))?.data ?? "")).toContain(newUrl);
    expect(await errorOf(fixture.atOld({ cipher }).run("paid", request))).toMatchObject({ code: "flow_foreign" });
  });

  it.skipIf(!isHere)(
    "are in one of the two scopes, readable, wherever a move is killed, and the next one goes on",
    async () => {
      const calls = ["list", "acquire", "write", "release", "renew", "read"] as const;
      for (let dieAt = 1, isDead = true; isDead; dieAt += 1) {
        const fixture = await movedFixture(open(), "", brief);
        await begin(fixture);
        let count = 0;
        isDead = false;
        const dying = new Proxy(fixture.journal, {
          get: (target, name) => {
            const method = Reflect.get(target, name);
            if (!calls.some((call) => call === name))
              return typeof method === "function" ? method.bind(target) : method;
            return async (...given: unknown[]) => {
              count += 1;
              isDead ||= count >= dieAt;
              if (isDead) throw new Error("the process is dead");
              return Reflect.apply(method, target, given);
            };
          },
        });
        await fixture
          .atNew({ journal: dying })
          .move({ from })
          .catch(() => {});
        const [left, moved] = await Promise.all([oldUrl, newUrl].map((service) => phasesAt(fixture.journal, service)));
        expect([...(left ?? []), ...(moved ?? [])].sort()).toEqual([
          "declined declined",
          "held held",
          "open funds-requested",
          "paid paid",
        ]);
        const shown = [...(await all(fixture.atOld().list())), ...(await all(fixture.atNew().list()))];
        expect(shown.map(({ key }) => key).sort()).toEqual(keys);
        await eventually(async () => {
          const report = await fixture.atNew().move({ from });
          expect(report).toMatchObject({ leased: [], failed: [] });
        });
        expect(await phasesAt(fixture.journal, oldUrl)).toEqual([]);
        await eventually(async () => {
          await all(fixture.atNew({ leaseMs: 60_000 }).recover());
          expect(await fixture.atNew().outcome("open")).toMatchObject({ status: "paid" });
        });
        expect(fixture.sandbox.payments).toHaveLength(2);
      }
    },
  );

  it.skipIf(!isHere)("are given back by nobody who was stopped at the old, empty address", async () => {
    const { journal, atOld, atNew, fate, bank } = await movedFixture(open(), "", brief);
    fate.areLost = true;
    expect(await atOld().run("k", request)).toMatchObject({ status: "held" });
    let goOn = () => {};
    fate.beforeOldList = new Promise((resolve) => {
      goOn = resolve;
    });
    fate.isOldEmpty = true;
    // Nothing renews the lease of a process that is stopped.
    const stopped = new Proxy(journal, {
      get: (target, name) => {
        if (name === "renew") return () => Promise.reject(new Error("the process is stopped"));
        const method = Reflect.get(target, name);
        return typeof method === "function" ? method.bind(target) : method;
      },
    });
    const releasing = errorOf(atOld({ journal: stopped }).resolve("k", "release", { ...decision, withoutProof: true }));
    await eventually(async () => expect((await journal.read("k"))?.leaseUntilMs).toBeDefined());
    expect(await atNew().move({ from })).toMatchObject({ moved: 0, leased: ["k"] });
    await eventually(async () => expect((await atNew().move({ from })).moved).toBe(1));
    goOn();
    expect(await releasing).toMatchObject({ code: "flow_not_held" });
    expect(bank.released).toEqual([]);
    expect(await atNew().outcome("k")).toMatchObject({ status: "held", decisions: [] });
  });
});

it("is signed anew where it was signed for another path, and looked for by both signatures", async () => {
  const { atOld, atNew, fate, sandbox } = await movedFixture(undefined, "/v1", brief);
  fate.areLost = true;
  expect(await atOld().run("k", request)).toMatchObject({ status: "held" });
  fate.areLost = false;
  expect(await atNew().move({ from })).toMatchObject({ moved: 1 });
  const outcome = await atNew().resolve("k", "resend", { ...decision, withoutProof: true });
  expect(outcome).toMatchObject({ status: "paid" });
  const sent = sandbox.requests.filter(isPayment).map(({ path }) => path);
  expect([sent, sandbox.payments.length]).toEqual([["/v1/payments"], 1]);
});

it("is sent again as it was signed where only the host is another", async () => {
  const fixture = await flowFixture(
    {
      onRequest: (seen) => (isPayment(seen) && isLost ? Response.error() : undefined),
    },
    brief,
  );
  let isLost = true;
  const held = await fixture.flow({ gatewayId }, { baseUrl: oldUrl }).run("k", request);
  isLost = false;
  await fixture.flow({ gatewayId }).move({ from });
  await fixture.flow({ gatewayId }).resolve("k", "resend", decision);
  const { signature } = (held.status === "held" && held.claim) || {};
  expect(fixture.sandbox.payments).toMatchObject([{ creationRequestSignatureBase64: signature }]);
});

it("leaves quotes that still hold, and moves them once they have expired, which they stay", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { atOld, atNew, journal, bank } = await movedFixture();
  const { intent } = await atOld().quote("k", request);
  const stored = await journal.read("k");
  expect(await atNew().move({ from })).toEqual({ moved: 0, leased: [], quoted: ["k"], failed: [], isStopped: false });
  expect(await journal.read("k")).toEqual(stored);
  vi.setSystemTime(Date.now() + 900_000);
  expect(await atNew().move({ from })).toMatchObject({ moved: 1, quoted: [] });
  vi.setSystemTime(Date.now() + 1);
  expect(await errorOf(atNew().confirm("k", { intentId: intent.id }))).toMatchObject({ code: "quote_expired" });
  expect(bank.calls).toBe(0);
  const renewed = await atNew().quote("k", request);
  expect(renewed.intent.id).not.toBe(intent.id);
  expect(await atNew().confirm("k", { intentId: renewed.intent.id })).toMatchObject({ status: "paid" });
});

it("names what another process runs, and what can't be read, and moves the rest", async () => {
  const fixture = await movedFixture();
  const { journal, atNew } = fixture;
  await begin(fixture);
  await journal.acquire("open", { owner: "another", leaseMs: 60_000, nonce: "n" });
  const scope = { service: oldUrl, gateway: gatewayId };
  const unreadable = { phase: "held", settled: true, data: "?", evidence: "" };
  await journal.begin("unreadable", scope, unreadable, { owner: "another", leaseMs: 300, nonce: "n" });
  const before = await journal.read("unreadable");
  expect(await atNew().move({ from })).toMatchObject({
    ...{ moved: 3, leased: ["open"], quoted: [] },
    failed: [{ key: "unreadable", error: { code: "flow_unreadable" } }],
  });
  expect(await journal.read("unreadable")).toEqual(before);
});

const nothing = { moved: 0, leased: [], quoted: [], failed: [], isStopped: false };
const atNewUrl = { scope: { service: newUrl, gateway: gatewayId } };
const gone = async () => undefined;
const changed = (entry: JournalEntry | undefined, change: Partial<JournalEntry>) => entry && { ...entry, ...change };
const readsAs = (change: Partial<JournalEntry>) => (journal: Journal) => ({
  acquire: gone,
  read: async (key: string) => changed(await journal.read(key), change),
});
const isLeasedAs =
  (change: Partial<JournalEntry>) =>
  (journal: Journal): Partial<Journal> => ({
    acquire: async (...given) => changed(await journal.acquire(...given), change),
  });

it.each<[string, (journal: Journal) => Partial<Journal>, object]>([
  ["is no longer there", () => ({ acquire: gone, read: gone }), {}],
  ["was pruned since it was listed", readsAs({ prunedAtMs: 1 }), {}],
  ["another process has moved", readsAs(atNewUrl), {}],
  ["another process has moved before it was leased", isLeasedAs(atNewUrl), {}],
  ["another process has", () => ({ acquire: gone }), { leased: ["open"] }],
  ["another process has taken over", () => ({ write: async () => false }), { leased: ["open"] }],
  ["was quoted before it was leased", isLeasedAs({ phase: "quoted", isExpired: false }), { quoted: ["open"] }],
  [
    "can't be stored",
    () => ({ write: () => Promise.reject(new Error("the disk is full")) }),
    { failed: [{ key: "open", error: expect.any(Error) }] },
  ],
])("leaves a flow that %s, and says so of what is still there", async (_, replaced, expected) => {
  const { atOld, atNew, journal } = await movedFixture();
  await errorOf(atOld({ takeFunds: closed }).run("open", request));
  const flow = atNew({ journal: boundJournal(journal, replaced(journal)) });
  expect(await flow.move({ from })).toEqual({ ...nothing, ...expected });
  expect((await journal.read("open"))?.scope.service).toBe(oldUrl);
});

it("says only that a flow was moved that another process had when it was tried first", async () => {
  const { atOld, atNew, journal } = await movedFixture();
  await atOld().run("paid", request);
  vi.spyOn(journal, "acquire").mockResolvedValueOnce(undefined);
  expect(await atNew().move({ from })).toEqual({ ...nothing, moved: 1 });
  expect((await journal.read("paid"))?.expiresAtMs).toBeUndefined();
});

it("moves the flows of a gateway from any address that was allowed once", () => {
  const service = "http://old.test";
  const whole = { scope: { service: newUrl, gateway: undefined } };
  const to = newUrl;
  expect(checkMove(whole, { from: { service, gateway: "beta" } })).toEqual({ from: { service, gateway: "beta" }, to });
  expect(checkMove(atNewUrl, { from: { service, gateway: undefined } })).toEqual({
    from: { service, gateway: gatewayId },
    to,
  });
  expect(() => checkMove(whole, { from: { service, gateway: "" } })).toThrow("gateway");
});

it("leaves what remains of pruned flows, which are not paid again", async () => {
  const fixture = await movedFixture();
  const { journal, atNew, sandbox } = fixture;
  await begin(fixture);
  await journal.prune({ settledBeforeMs: Date.now() + 1000 });
  expect(await atNew().move({ from })).toMatchObject({ moved: 2 });
  for (const key of ["paid", "declined"]) {
    expect(await errorOf(atNew().run(key, request))).toMatchObject({ code: "flow_foreign", effect: "possible" });
  }
  expect(sandbox.payments).toHaveLength(1);
});

it("knows of payments whose flows were pruned before the move, where a list is empty", async () => {
  const { atOld, atNew, fate, journal, sandbox } = await movedFixture();
  await errorOf(atOld({ takeFunds: closed }).run("open", request));
  expect(await atOld().run("paid", request)).toMatchObject({ status: "paid" });
  await journal.prune({ settledBeforeMs: Date.now() + 1000 });
  expect(await atNew().move({ from })).toMatchObject({ moved: 1 });
  fate.isNewEmpty = true;
  const error = await errorOf(all(atNew().recover()));
  expect(error).toMatchObject({ errors: [{ key: "open", cause: { code: "flow_payment_unseen" } }] });
  fate.isNewEmpty = false;
  expect(await all(atNew().recover())).toMatchObject([{ key: "open", status: "paid" }]);
  expect(sandbox.payments).toHaveLength(2);
});

it("leaves the flows of other gateways", async () => {
  const { atOld, atNew, journal } = await movedFixture();
  await errorOf(atOld({ takeFunds: closed }).run("k", request));
  const stored = await journal.read("k");
  if (stored === undefined) throw new Error("there is no flow");
  const other = { service: oldUrl, gateway: "beta-mobile" };
  await journal.begin("other", other, stored, { owner: "another", leaseMs: 1, nonce: "n" });
  expect(await atNew().move({ from })).toMatchObject({ moved: 1, failed: [] });
  expect((await journal.read("other"))?.scope).toEqual(other);
});

it("moves back", async () => {
  const fixture = await movedFixture();
  await begin(fixture);
  await fixture.atNew().move({ from });
  expect(await fixture.atNew().move({ from: { service: newUrl }, to: from })).toMatchObject({ moved: 4, failed: [] });
  expect(await fixture.atOld().outcome("paid")).toMatchObject({ status: "paid" });
});

it("stops between two flows, and says so", async () => {
  const fixture = await movedFixture();
  await begin(fixture);
  const report = await fixture.atNew().move({ from, signal: AbortSignal.abort() });
  expect(report).toEqual({ moved: 0, leased: [], quoted: [], failed: [], isStopped: true });
});

it.each<[string, unknown, string]>([
  ["no options", undefined, "move"],
  ["no from", {}, "from"],
  [
    "a field that is none of a scope",
    { from: { ...from, open: 1 } },
    'such as { service: "…", gateway: "…" }, and no other fields',
  ],
  ["a base URL to move to that is none", { from, to: { service: "new.test" } }, "to.service"],
  ["text in place of a scope", { from: oldUrl }, "from"],
  ["a scope without a service", { from: { gateway: gatewayId } }, "from.service"],
  ["what is not a base URL", { from: { service: "old.test" } }, "from.service"],
  ["a URL with a query", { from: { service: `${oldUrl}?a=1` } }, "query"],
  ["the same base URL twice", { from, to: { service: `${oldUrl}/` } }, "the same base URL"],
  ["its own base URL", { from: { service: newUrl } }, "the same base URL"],
  ["another gateway", { from: { ...from, gateway: "beta-mobile" } }, "gatewayId"],
  ["a gateway to move to", { from, to: { service: newUrl, gateway: "beta-mobile" } }, "to"],
  ["an unknown option", { from, yes: true }, "yes"],
  ["an unknown field", { from: { ...from, phase: "held" } }, "from"],
])("refuses %s before it reads anything", async (_, options, message) => {
  const { journal, atNew } = await movedFixture();
  const list = vi.spyOn(journal, "list");
  const error = await errorOf(atNew().move(options as never));
  expect(error).toMatchObject({ code: "invalid_argument", effect: "none" });
  expect(error.message).toContain(message);
  expect(list).not.toHaveBeenCalled();
});

it("is reported by work, once a start, with what to do", async () => {
  const fixture = await movedFixture();
  await begin(fixture);
  const errors: unknown[] = [];
  const stop = new AbortController();
  const working = fixture
    .atNew({ on: { error: (error) => errors.push(error) } })
    .work({ signal: stop.signal, everyMs: 5 });
  await eventually(() => expect(errors).toHaveLength(1));
  const list = vi.spyOn(fixture.journal, "acquireAbandoned");
  await eventually(() => expect(list.mock.calls.length).toBeGreaterThan(3));
  stop.abort();
  await working;
  expect(errors).toMatchObject([
    { code: "flow_elsewhere", message: expect.stringMatching(/1 open flow and 1 held flow .*move/) },
  ]);
});

it("reads no flow that is settled for metrics", async () => {
  const fixture = await movedFixture();
  await begin(fixture);
  const scopes = vi.spyOn(fixture.journal, "scopes");
  expect((await fixture.atNew().counts()).elsewhere).toBe(2);
  expect(scopes).not.toHaveBeenCalled();
});
