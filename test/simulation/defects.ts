import { FlowPausedError, type Journal, type PaymentFlow } from "cross-border-payments/flow";
import { type ApiClient, apiClientKey, apiClientOf } from "../../src/api/api-client.js";
import { later, now, sleep } from "../../src/core/clock.js";
import { CrossBorderError } from "../../src/core/errors.js";
import type { Defect, Parts } from "./simulate.js";

/** A part with some of its methods replaced. */
function withMethods<T extends object>(part: T, methods: Partial<T>): T {
  return new Proxy(part, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const onJournal = (seed: number, change: (journal: Journal) => Partial<Journal>): Defect => ({
  seed,
  parts: ({ journal }) => ({ journal: withMethods(journal, change(journal)) }),
});

const onClient = (seed: number, change: (client: ApiClient) => Partial<ApiClient>): Defect => ({
  seed,
  parts({ client }) {
    const api = apiClientOf(client) as ApiClient;
    return { client: Object.create(client, { [apiClientKey]: { value: withMethods(api, change(api)) } }) };
  },
});

const onBank = (seed: number, change: (parts: Parts) => Partial<Parts>): Defect => ({ seed, parts: change });

const onFlow = (seed: number, change: (flow: PaymentFlow) => Partial<PaymentFlow>): Defect => ({
  seed,
  flow: (flow) => withMethods(flow, change(flow)),
});

/** Mistakes that a driver, or what it works with, could make. The simulator must find each. */
export const defects: Readonly<Record<string, Defect>> = {
  "a claim is sent before it is stored": onJournal(38, (journal) => ({
    async write(key, id, state, quote) {
      if (state.phase !== "claimed") return journal.write(key, id, state, quote);
      void journal.write(key, id, state, quote).catch(() => {});
      return true;
    },
  })),
  "a write that fails counts as stored": onJournal(52, (journal) => ({
    write: (key, id, state, quote) => journal.write(key, id, state, quote).catch(() => true),
  })),
  "leases are not renewed": onJournal(2, () => ({ renew: async () => false })),
  "a renewal is believed, and isn't stored": onJournal(15, () => ({ renew: async () => true })),
  "a lease ends for others while its owner lives": onJournal(3, (journal) => ({
    async acquireAbandoned(scope, lease, after) {
      const { entries } = await journal.list({ scope, limit: 10, after });
      const open = entries.find(({ settled, phase }) => !settled && phase !== "quoted");
      if (open) await journal.release(open.key, open);
      return journal.acquireAbandoned(scope, lease, after);
    },
  })),
  "the lease isn't looked at before the first byte": {
    ...onClient(162, (client) => ({
      send: (operation, request, _sendBy, options) => client.send(operation, request, later(now(), 600_000), options),
    })),
    // A process that is late does harm only if another one sends again.
    where: { facts: { listedWithinMs: 2_000 }, lagMs: 1_000, weather: { stall: 0.3 }, isListForbidden: false },
  },
  "a search sees nothing": {
    seed: 6,
    fetch: (fetch) => async (url, init) => {
      const response = await fetch(url, init);
      return init.method === "GET" && response.status === 200 ? Response.json([]) : response;
    },
  },
  "a bank that fails to give back counts as done": onBank(124, ({ releaseFunds }) => ({
    releaseFunds: async (context) => {
      try {
        await releaseFunds(context);
      } catch {}
    },
  })),
  "the caller's signal is ignored": onFlow(54, (flow) => ({
    run: (key, request, { signal: _, ...options } = {}) => flow.run(key, request, options),
    confirm: (key, confirmed, { signal: _, ...options } = {}) => flow.confirm(key, confirmed, options),
  })),
  "a flow that stops tells that nothing was done": onFlow(4, (flow) => ({
    run: (key, request, options) =>
      flow.run(key, request, options).catch((error: unknown) => {
        if (!(error instanceof FlowPausedError)) throw error;
        throw new CrossBorderError(error.message, { code: "timeout", effect: "none" });
      }),
  })),
  "work takes nothing over": onFlow(5, () => ({ work: () => sleep(24 * 3_600_000) })),
  "held flows are not searched for again": onJournal(19, (journal) => ({
    list: (query) => (query.phase === "held" ? Promise.resolve({ entries: [], counts: [] }) : journal.list(query)),
  })),
};
