import { getEventListeners } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { follow } from "../../src/cli/lists/follow.js";
import type { ListedRecord } from "../../src/cli/lists/output.js";
import { PagingError } from "../../src/core/errors.js";
import type { CrossBorderClient, Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { environmentOf } from "../support/environment.js";
import { until } from "../support/eventually.js";
import { registeredClient, requestOf } from "./gateway-fixture.js";
import { recordsIn, run } from "./run.js";

beforeEach(() => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  return () => random.mockRestore();
});

/** A service whose records come in turns, one turn before each reading; after the last one the follower is stopped. */
interface Service {
  readonly turns: readonly (readonly ListedRecord[] | Error)[];
  readonly isInclusive?: boolean;
  readonly after?: string;
}

const pageSize = 7;

async function followed({ turns, isInclusive = false, after }: Service) {
  const stop = new AbortController();
  const left = [...turns];
  const records: ListedRecord[] = [];
  const bounds: (string | undefined)[] = [];
  const open = (query: { readonly after?: string | undefined }, signal: AbortSignal) => ({
    async *pages() {
      const turn = left.shift();
      if (turn === undefined) {
        stop.abort();
        // As a request does.
        signal.throwIfAborted();
      }
      if (turn instanceof Error) throw turn;
      records.push(...(turn ?? []));
      bounds.push(query.after);
      const bound = records.findIndex(({ pagingToken }) => String(pagingToken) === query.after);
      const listed = records.slice(bound + (isInclusive && bound >= 0 ? 0 : 1));
      for (let at = 0; at < listed.length; at += pageSize) yield { items: listed.slice(at, at + pageSize) };
    },
  });
  const given: unknown[] = [];
  const continuations: string[] = [];
  const outages: (string | undefined)[] = [];
  try {
    const onOutage = (error: Error | undefined) => void outages.push(error?.message);
    const options = { name: "payments", everyMs: 1, signal: stop.signal, after, onOutage };
    for await (const news of follow(open, options)) {
      given.push(...news.records.map(({ id }) => id));
      continuations.push(news.after);
    }
  } finally {
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  }
  return { given, continuations, bounds, outages };
}

const numbers = (index: number) => String(index + 1);
const kinds: Readonly<Record<string, (index: number) => string | number>> = {
  numbers,
  "JSON numbers": (index) => index + 1,
  base64: (index) => btoa(`token ${(index * 7919) % 104_729}`),
};

function turnsOf(tokenOf: (index: number) => string | number, ...counts: readonly number[]) {
  let made = 0;
  return counts.map((count) =>
    Array.from({ length: count }, () => ({ id: `p-${made}`, pagingToken: tokenOf(made++) })),
  );
}

describe("what follows a list", () => {
  const services = Object.entries(kinds).flatMap(([kind, tokenOf]) =>
    [false, true].map((isInclusive) => ({ kind, tokenOf, isInclusive })),
  );

  it.each(services)("gives each record once: tokens $kind, bounds inclusive $isInclusive", async (service) => {
    const turns = turnsOf(service.tokenOf, 0, 1, 0, 2, 30, 0, 600, 1, 0);
    expect((await followed({ ...service, turns })).given).toEqual(turns.flat().map(({ id }) => id));
  });

  it("begins after a token, reads no more than a few records again, and says where to continue", async () => {
    const { given, bounds, continuations } = await followed({ turns: turnsOf(numbers, 30, 0, 2), after: "3" });
    expect([given[0], bounds]).toEqual(["p-3", ["3", "21", "21"]]);
    expect(continuations).toEqual(["10", "17", "24", "30", "32"]);
  });

  it.each<[lacks: string, record: ListedRecord]>([
    ["paging tokens", { id: "a", pagingToken: "" }],
    ["paging tokens", { id: "a", pagingToken: null }],
    ["ids", { pagingToken: "1" }],
  ])("says why it can't be followed without %s", async (lacks, record) => {
    await expect(followed({ turns: [[record]] })).rejects.toThrow(
      `payments can't be followed: the service lists them without ${lacks}`,
    );
  });

  it("waits if the next reading can show the end, and for nothing else", async () => {
    const unproved = new PagingError("nothing shows the end", { code: "paging_end_unproved" });
    const [first = [], second = []] = turnsOf(String, 3, 2);
    const { given, outages } = await followed({ turns: [unproved, unproved, first, unproved, second] });
    expect(given).toHaveLength(5);
    expect(outages).toEqual([unproved.message, undefined, unproved.message, undefined]);
    await expect(followed({ turns: [new RangeError("a bug")] })).rejects.toThrow("a bug");
  });
});

describe("payments list --follow", () => {
  let server: SandboxServer;
  let client: CrossBorderClient;
  let env: Record<string, string>;
  /** What the service does to lists. */
  let state: "up" | "away" | "silent" = "up";
  /** How many requests wait for a silent service. */
  let waiting = 0;
  /** A payment that is not listed yet. */
  let unlisted: string | undefined;

  beforeAll(async () => {
    server = await startSandbox({
      onRequest({ operation }) {
        if (operation !== "payments.list" || state === "up") return undefined;
        waiting += 1;
        return state === "away" ? Response.error() : new Promise<undefined>(() => {});
      },
      async onResponse({ operation }, response) {
        if (operation !== "payments.list" || unlisted === undefined) return undefined;
        const listed = (await response.json()) as Payment[];
        return Response.json(listed.filter(({ senderGatewayTransactionId: id }) => id !== unlisted));
      },
    });
    client = await registeredClient(server);
    env = environmentOf(server.clientOptions);
    await pay();
  });
  beforeEach(() => {
    state = "up";
    unlisted = undefined;
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  async function pay(): Promise<string> {
    const id = `TX-${server.sandbox.payments.length + 1}`;
    await client.pay(requestOf("1.00"), () => ({ senderGatewayTransactionId: id }));
    return id;
  }

  /** In this process, of which a stop is a signal, too. */
  function followHere() {
    const written = { stdout: "", stderr: "" };
    const ended = run(["payments", "list", "--follow", "--every", "20ms"], {
      env,
      onText(name, text) {
        written[name] += text;
      },
    });
    const stop = async (): Promise<number> => {
      process.emit("SIGINT");
      return (await ended).code;
    };
    return { written, stop, shows: (id: string) => until(() => written.stdout.includes(`"${id}"`)) };
  }

  const transactions = (ndjson: string) =>
    recordsIn(ndjson).map(({ senderGatewayTransactionId }) => senderGatewayTransactionId);
  const stored = () => server.sandbox.payments.map(({ senderGatewayTransactionId: id }) => id);

  it("has those that are there and those that come, late ones too, and says where to continue", async () => {
    unlisted = await pay();
    const { written, stop, shows } = followHere();
    await shows(await pay());
    const late = unlisted;
    unlisted = undefined;
    await shows(late);
    // What changes is no news.
    server.sandbox.setReceiverStatus(server.sandbox.payments.at(-1)?.id ?? "", "processed");
    await shows(await pay());
    expect(await stop()).toBe(0);
    expect(transactions(written.stdout).sort()).toEqual(stored().sort());
    const [, after = ""] = /^cross-border: continue with --after (\S+)\n$/.exec(written.stderr) ?? [];
    const unseen = await pay();
    const { stdout } = await run(["payments", "list", "--after", after], { env });
    expect(transactions(stdout)).toEqual([unseen]);
  });

  it("waits while the service is away, and says so once", async () => {
    state = "away";
    const { written, stop, shows } = followHere();
    await until(() => written.stderr !== "");
    state = "up";
    await shows(stored().at(-1) ?? "");
    expect(await stop()).toBe(0);
    expect(written.stderr).toMatch(
      /^cross-border: payments\.list failed: .* Trying again\.\ncross-border: the service is back\ncross-border: continue/,
    );
  });

  it.each(["away", "silent"] as const)("ends at Ctrl-C while the service is %s", async (word) => {
    state = word;
    const before = waiting;
    const { stop } = followHere();
    await until(() => waiting > before);
    expect(await stop()).toBe(0);
  });

  it.each<[said: string, line: string[]]>([
    ["payment gateways can't be followed: the service lists them without paging tokens", ["payment-gateways"]],
    ["Login failed: ", ["payments", "--username", "nobody"]],
  ])("fails at once: %s", async (said, [name = "", ...line]) => {
    const { code, stderr } = await run([name, "list", "--follow", ...line], { env });
    expect([code, stderr]).toEqual([3, expect.stringContaining(said)]);
  });
});
