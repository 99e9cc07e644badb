import { InvalidArgumentError } from "cross-border-payments";
import { JournalError, MemoryJournal } from "cross-border-payments/flow";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { FlowContext } from "../../../src/flows/flow-context.js";
import type { Journal } from "../../../src/flows/journal.js";
import { unsettledWrite } from "../../../src/flows/ownership/journal-failure.js";
import { LeaseLost } from "../../../src/flows/ownership/lease.js";
import { acquireEntry, retryJournal } from "../../../src/flows/ownership/own-flow.js";
import { boundJournal } from "../bound-journal.js";
import { flowFixture, request } from "../flow-fixture.js";
import { errorOf } from "../results.js";
import { useFakeTime } from "./fake-time.js";

const unknown = () => new JournalError("the connection broke", { stored: "unknown" });
const nothing = () => new JournalError("the disk failed", { stored: "nothing" });

/** The leases of other tests' flows may beat for ever: not all timers are waited for. */
const afterAllTries = 1000;

/** What is thrown after all tries, of which each throws what is given for it, and how many there were. */
async function failing(errors: readonly unknown[]): Promise<{ readonly error: unknown; readonly tries: number }> {
  const work = vi.fn(() => Promise.reject(errors[work.mock.calls.length - 1]));
  const thrown = errorOf<unknown>(retryJournal(work));
  await vi.advanceTimersByTimeAsync(afterAllTries);
  return { error: await thrown, tries: work.mock.calls.length };
}

describe("a journal that fails", () => {
  beforeEach(useFakeTime);

  it("is asked three times, then its error is thrown", async () => {
    const errors = [nothing(), nothing(), nothing()];
    expect(await failing(errors)).toEqual({ error: errors[2], tries: 3 });
  });

  it.each([
    [0, [unknown(), nothing(), nothing()]],
    [1, [nothing(), unknown(), nothing()]],
    [2, [nothing(), nothing(), unknown()]],
    [0, [new Error("a journal of one's own"), nothing(), nothing()]],
    [0, [unknown(), nothing(), new InvalidArgumentError("the key is too long")]],
  ])("has its error thrown that says that it may have stored something: that of try %i", async (at, errors) => {
    const { error, tries } = await failing(errors);
    expect(error).toBe(errors[at]);
    expect(tries).toBe(3);
  });

  it("is not asked again for what it can't store at all", async () => {
    const error = new InvalidArgumentError("the key is too long");
    expect(await failing([error])).toEqual({ error, tries: 1 });
  });

  it("is not asked again by an owner that has lost the flow", async () => {
    const error = new LeaseLost();
    expect(await failing([error])).toEqual({ error, tries: 1 });
  });

  it.each([
    ["nothing", undefined],
    ["what refuses something else", new InvalidArgumentError("the client is closed", { code: "client_closed" })],
    [
      "a mistake in the arguments, but of another library",
      Object.assign(new Error("no"), { code: "invalid_argument" }),
    ],
  ])("is asked again where it throws %s", async (_, thrown) => {
    expect(await failing([thrown, thrown, thrown])).toEqual({ error: thrown, tries: 3 });
  });
});

it("says of which flow a journal has not said what became of a write", () => {
  expect(unsettledWrite("k")).toMatchObject({
    message: 'the journal has not said what became of an earlier write to the flow of key "k"',
    stored: "unknown",
  });
});

describe("a lease", () => {
  beforeEach(useFakeTime);

  const scope = { service: "https://service.test", gateway: "alpha-bank" };
  const state = { phase: "claimed", settled: false, data: "{}", evidence: "" };

  async function leaseFixture(replaced: (journal: MemoryJournal) => Partial<Journal> = () => ({})) {
    const memory = new MemoryJournal();
    const read = vi.fn((key: string) => memory.read(key));
    const journal = boundJournal(memory, { read, ...replaced(memory) });
    const acquire = async () => {
      const acquired = acquireEntry({ journal, owner: "a process", leaseMs: 60_000 } as FlowContext, "k");
      await vi.advanceTimersByTimeAsync(afterAllTries);
      return acquired;
    };
    const begin = () => memory.begin("k", scope, state, { owner: "another process", leaseMs: 60_000, nonce: "n" });
    return { memory, read, acquire, begin };
  }

  /** The first request is lost on its way. */
  const losing = (journal: MemoryJournal): Partial<Journal> => {
    let isLost = false;
    return {
      acquire: (...args) => {
        if (isLost) return journal.acquire(...args);
        isLost = true;
        return Promise.reject(unknown());
      },
    };
  };

  it("that another process has is refused at once, without a read", async () => {
    const { acquire, begin, read } = await leaseFixture();
    await begin();
    expect(await acquire()).toBeUndefined();
    expect(read).not.toHaveBeenCalled();
  });

  it("that was asked for twice is not taken for one's own where another process has the flow", async () => {
    const { acquire, begin, read } = await leaseFixture(losing);
    await begin();
    expect(await acquire()).toBeUndefined();
    expect(read).toHaveBeenCalledTimes(1);
  });

  it("that was asked for twice is none where there is no such flow", async () => {
    const { acquire } = await leaseFixture(losing);
    expect(await acquire()).toBeUndefined();
  });
});

it("says of a quote that may have been stored that no money was taken: nobody has confirmed it", async () => {
  const { flow, journal } = await flowFixture();
  const failing = boundJournal(journal, {
    begin: () => Promise.reject(unknown()),
    replaceQuote: () => Promise.reject(unknown()),
  });
  const noEffect = { code: "journal_failed", effect: "none" };
  expect(await errorOf(flow({ journal: failing }).quote("k", request))).toMatchObject(noEffect);
  await flow().quote("k", request);
  expect(await errorOf(flow({ journal: failing }).cancel("k"))).toMatchObject(noEffect);
});
