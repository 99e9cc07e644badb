import { InvalidArgumentError } from "cross-border-payments";
import { FlowPausedError, type Journal, type PaymentFlowOptions } from "cross-border-payments/flow";
import { describe, expect, it, vi } from "vitest";
import { apiClientOf } from "../../src/api/api-client.js";
import { ConnectionError } from "../../src/core/errors.js";
import { type FlowFixture, flowFixture, request } from "./flow-fixture.js";

/** What the service makes of a request: nothing that it does itself, or a response in place of its own. */
interface Answer {
  readonly instead?: Response;
  readonly afterwards?: Response;
}

const own: Answer = {};
const lost: Answer = { afterwards: Response.error() };
const unmade: Answer = { instead: Response.error() };
const says = (status: number, headers: Record<string, string> = {}): Answer => ({
  instead: Response.json({ error: "limit", message: "no" }, { status, headers }),
});
const atOnce = { "retry-after": "0" };
const page = (status: number): Answer => ({ instead: new Response("<h1>No</h1>", { status }) });
const lists = (answer: Answer): readonly Answer[] => Array(20).fill(answer);
const anothers: Answer = {
  afterwards: Response.json({
    id: "p-9",
    senderGatewayTransactionId: "TX-1",
    creationRequestBody: '{"id":"pi-9"}',
    creationRequestSignatureBase64: btoa("x".repeat(256)),
  }),
};

interface Day {
  readonly name: string;
  readonly intents?: readonly Answer[];
  readonly payments?: readonly Answer[];
  readonly lists?: readonly Answer[];
  readonly options?: Partial<PaymentFlowOptions>;
  /** What the flow comes to. */
  readonly is: object;
  /** How often each is called. */
  readonly asked?: Readonly<Partial<Record<"payments" | "lists" | "taken" | "released", number>>>;
}

const service = { by: "service", status: 400, serviceCode: "limit", serviceMessage: "no" };

const days: readonly Day[] = [
  { name: "an ordinary payment reads no list", is: { status: "paid" }, asked: { payments: 1, lists: 0, taken: 1 } },
  ...[403, 500, 400].map((status) => ({
    name: `the list responds with ${status}`,
    lists: lists(says(status)),
    is: { status: "paid" },
    asked: { payments: 1 },
  })),
  {
    name: "a plain refusal has the service's words, and gives the money back at once",
    payments: [says(400)],
    options: { readBackDelayMs: 60_000 },
    is: { status: "rejected", refusal: service, senderGatewayTransactionId: "TX-1" },
    asked: { payments: 1, released: 1 },
  },
  ...[403, 500].map((status) => ({
    name: `a refusal, and the list responds with ${status}`,
    payments: [says(400)],
    lists: lists(says(status)),
    is: { status: "rejected", refusal: service },
    asked: { payments: 1, released: 1 },
  })),
  {
    name: "a refused intent rejects the flow without money",
    intents: [says(400)],
    is: { status: "rejected", refusal: service, decisions: [] },
    asked: { payments: 0, taken: 0, released: 0 },
  },
  {
    name: "the service throttles",
    payments: [says(429, atOnce), says(429, atOnce), own],
    is: { status: "paid" },
    asked: { payments: 3, taken: 3, released: 0 },
  },
  {
    name: "a 401, and the next token is accepted",
    payments: [says(401, atOnce), own],
    is: { status: "paid" },
    asked: { payments: 2, released: 0 },
  },
  {
    name: "401 again and again is held",
    payments: lists(says(401, atOnce)),
    is: { status: "held", why: "unauthorized" },
    asked: { payments: 9, released: 0 },
  },
  { name: "a lost response is found", payments: [lost], is: { status: "paid" }, asked: { payments: 1, released: 0 } },
  {
    name: "a lost response whose payment isn't listed is held after three searches",
    payments: [unmade],
    is: { status: "held", why: "not-found", reason: expect.stringContaining("Searched 3 times; the payment isn't") },
    asked: { payments: 1, released: 0 },
  },
  {
    name: "a commit that the list shows late",
    payments: [lost],
    lists: [says(500), own, own, own],
    is: { status: "paid" },
  },
  {
    name: "a lost response, and the list is refused for good: it isn't read again",
    payments: [lost],
    lists: lists(says(403)),
    is: { status: "held", why: "not-found", reason: expect.stringContaining("refuses to list payments") },
    asked: { payments: 1 },
  },
  ...[502, 403].map((status) => ({
    name: `a proxy's page with ${status}`,
    payments: [page(status)],
    is: { status: "held" },
    asked: { payments: 1, released: 0 },
  })),
  { name: "another payment's record", payments: [anothers], is: { status: "paid" }, asked: { payments: 1 } },
  {
    name: "singleUseIntents: sent again after searches",
    payments: [unmade, own],
    options: { readBacks: 0, facts: { singleUseIntents: true } },
    is: { status: "paid", reliedOn: ["singleUseIntents"] },
    asked: { payments: 2 },
  },
  {
    name: "listedWithinMs: sent again after a complete search",
    payments: [unmade, own],
    options: { readBacks: 0, facts: { listedWithinMs: 20 } },
    is: { status: "paid", reliedOn: ["listedWithinMs"] },
    asked: { payments: 2 },
  },
  {
    name: "listedWithinMs, and the list can't be read",
    payments: [unmade],
    lists: lists(says(500)),
    options: { readBacks: 0, facts: { listedWithinMs: 20 } },
    is: { status: "held" },
    asked: { payments: 1 },
  },
  {
    name: "a refusal of bytes that had been sent before",
    payments: [unmade, says(400)],
    options: { readBacks: 0, facts: { singleUseIntents: true } },
    is: { status: "held", why: "refused-after-repeat" },
    asked: { payments: 2, released: 0 },
  },
];

/** A service that answers by a script, one answer after the other, and then as it is. */
async function scripted(day: Pick<Day, "intents" | "payments" | "lists" | "options">) {
  const scripts: Record<string, Answer[]> = {
    "paymentIntents.create": [...(day.intents ?? [])],
    "payments.create": [...(day.payments ?? [])],
    "payments.list": [...(day.lists ?? [])],
  };
  const counts: Record<string, number> = {};
  let current: Answer = own;
  const fixture = await flowFixture(
    {
      onRequest: ({ operation = "" }) => {
        counts[operation] = (counts[operation] ?? 0) + 1;
        current = scripts[operation]?.shift() ?? own;
        return current.instead?.type === "error" ? current.instead : current.instead?.clone();
      },
      onResponse: () => current.afterwards,
    },
    { leaseMs: 600_000, ...day.options },
  );
  const count = (operation: string) => counts[operation] ?? 0;
  const asked = () => ({
    payments: count("payments.create"),
    lists: count("payments.list"),
    taken: fixture.bank.calls,
    released: fixture.bank.released.length,
  });
  return { ...fixture, asked };
}

describe("on a day on which", () => {
  it.each(days)("$name", async ({ is, asked = {}, ...day }) => {
    const { flow, asked: all } = await scripted(day);
    const outcome = await flow().run("order-1", request);
    expect(outcome).toMatchObject(is);
    expect(all()).toMatchObject(asked);
    // Whoever asks again hears the same.
    await expect(flow().run("order-1", request)).resolves.toEqual(outcome);
  });
});

it("takes one token and two requests", async () => {
  const seen: unknown[] = [];
  const { flow } = await flowFixture({ onRequest: ({ operation }) => void (operation && seen.push(operation)) });
  await flow().run("order-1", request);
  expect(seen).toEqual(["token", "paymentIntents.create", "payments.create"]);
});

interface Pause {
  readonly name: string;
  readonly day?: Pick<Day, "payments" | "lists">;
  readonly breaks: (fixture: FlowFixture) => Partial<PaymentFlowOptions>;
  readonly phase: string | undefined;
  readonly cause: object;
  /** What the next run gives. Default: `paid`. */
  readonly next?: string;
}

const refusing = (what: string) => () => {
  throw new Error(what);
};

/** Until all mocks are restored. */
function failsAt(journal: Journal, method: "begin" | "read" | "write"): object {
  vi.spyOn(journal, method).mockRejectedValue(new Error("no disk"));
  return {};
}

const pauses: readonly Pause[] = [
  {
    name: "takeFunds throws",
    breaks: () => ({ takeFunds: refusing("no bank") }),
    phase: "funds-requested",
    cause: { message: "no bank" },
  },
  {
    name: "takeFunds forgets takenAtMs",
    breaks: () => ({ takeFunds: () => ({ senderGatewayTransactionId: "TX-1", replayed: true }) as never }),
    phase: "funds-requested",
    cause: { code: "invalid_argument" },
  },
  {
    name: "releaseFunds throws",
    day: { payments: [says(400)] },
    breaks: () => ({ releaseFunds: refusing("no bank") }),
    phase: "refused",
    cause: { message: "no bank" },
    next: "rejected",
  },
  {
    name: "the payment was certainly not sent",
    breaks: ({ client }) => {
      const api = apiClientOf(client);
      if (api === undefined) throw new Error("no client");
      const unsent = new ConnectionError("refused", { operation: "payments.create" });
      vi.spyOn(api, "send").mockRejectedValueOnce(unsent);
      return { client };
    },
    phase: "funds-requested",
    cause: { code: "connection_failed" },
  },
  {
    name: "the service asks for a longer wait than the caller has patience for",
    day: { payments: [says(429, { "retry-after": "1" })] },
    breaks: () => ({}),
    phase: "funds-requested",
    cause: { code: "flow_throttled" },
  },
  {
    name: "the journal can't store the first entry",
    breaks: ({ journal }) => failsAt(journal, "begin"),
    phase: undefined,
    cause: { code: "journal_failed" },
  },
  {
    name: "the key can't be read",
    breaks: ({ journal }) => failsAt(journal, "read"),
    phase: undefined,
    cause: { code: "journal_failed" },
  },
  {
    name: "the claim can't be stored: nothing is sent",
    breaks: ({ journal }) => failsAt(journal, "write"),
    phase: "funds-requested",
    cause: { code: "journal_failed" },
  },
];

describe("a flow is paused if", () => {
  it.each(pauses)("$name", async ({ day = {}, breaks, phase, cause, next = "paid" }) => {
    const fixture = await scripted(day);
    const error = await fixture
      .flow(breaks(fixture))
      .run("order-1", request, { patienceMs: 200 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ key: "order-1", effect: "possible", cause });
    expect((error as FlowPausedError).phase).toBe(phase);
    vi.restoreAllMocks();
    await expect(fixture.flow().run("order-1", request)).resolves.toMatchObject({ status: next });
    expect(fixture.sandbox.payments.length).toBe(next === "paid" ? 1 : 0);
  });

  it("its caller gives up while the bank takes its time", async () => {
    const { flow, bank } = await scripted({});
    const stop = new AbortController();
    const takeFunds = () => {
      stop.abort();
      return new Promise<never>(() => {});
    };
    const error = flow({ takeFunds }).run("order-1", request, { signal: stop.signal });
    await expect(error).rejects.toMatchObject({ code: "flow_paused", cause: { code: "aborted" } });
    await expect(flow().run("order-1", request)).resolves.toMatchObject({ status: "paid" });
    expect(bank.calls).toBe(1);
  });
});

describe("nothing is begun if", () => {
  it.each([
    ["the intent's response is lost", [unmade], { code: "outcome_unknown" }],
    ["the service fails", [says(500)], { status: 500 }],
    ["the token is refused", [says(401), says(401)], { status: 401 }],
  ])("%s", async (_, intents, error) => {
    const { flow } = await scripted({ intents });
    await expect(flow().run("order-1", request)).rejects.toMatchObject({ ...error });
    await expect(flow().status("order-1")).resolves.toBeUndefined();
  });

  it.each([
    ["a field is missing", { ...request, receiverAccount: undefined as never }],
    ["a field is misspelt", { ...request, reciever: "x" }],
  ])("%s", async (_, wrong) => {
    const { flow, journal } = await scripted({});
    const read = vi.spyOn(journal, "read");
    await expect(flow().run("order-1", wrong)).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(read).not.toHaveBeenCalled();
  });
});

it("pays although takeFunds is slower than the lease, with one call", async () => {
  const { flow, bank } = await scripted({});
  const slow = async (context: { readonly key: string }) => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    return bank.takeFunds(context);
  };
  await expect(flow({ leaseMs: 150, takeFunds: slow }).run("order-1", request)).resolves.toMatchObject({
    status: "paid",
  });
  expect(bank.calls).toBe(1);
});
