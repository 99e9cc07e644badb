import { type Journal, type JournalEntry, MemoryJournal } from "cross-border-payments/flow";
import { BrokenLawError, verifyJournal } from "cross-border-payments/testing";
import { expect, it } from "vitest";

type StateId = Parameters<Journal["write"]>[1];

/** A journal over a store that others share, with some of its methods replaced. */
function broken(change: (store: MemoryJournal, clock: { nowMs: number }) => Partial<Journal>) {
  const clock = { nowMs: 1_700_000_000_000 };
  const store = new MemoryJournal({ nowMs: () => clock.nowMs });
  const methods = change(store, clock);
  const journal = new Proxy<Journal>(store, {
    get: (_, name) => Reflect.get(methods, name) ?? Reflect.get(store, name)?.bind(store),
  });
  const open = async () => journal;
  const wait = async (ms: number) => {
    clock.nowMs += ms;
  };
  return { open, options: { openSecond: open, reopen: open, wait } };
}

/** What a column for JSON gives back. */
function parsed(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** The keys of all flows that were not pruned. */
async function keysOf(store: MemoryJournal, service = "https://service.example"): Promise<string[]> {
  return (await store.list({ scope: { service }, limit: 10_000 })).map(({ key }) => key);
}

/** Others come in between where a journal reads in one statement, and writes in another one. */
const otherStatement = () => new Promise((resolve) => setImmediate(resolve));

/** What is there in a second statement, of a flow that was as it was seen in the first one: a change that names it always applies. */
async function afterLooking(
  store: MemoryJournal,
  key: string,
  seen: Partial<StateId>,
): Promise<JournalEntry | undefined> {
  const present = Object(await store.read(key));
  if (Object.entries(seen).some(([name, value]) => Reflect.get(present, name) !== value)) return undefined;
  await otherStatement();
  return store.read(key);
}

function quotesOf(store: MemoryJournal): Promise<readonly JournalEntry[]> {
  return store.list({ scope: { service: "https://service.example" }, phase: "quoted", limit: 1000 });
}

const mistakes: readonly [mistake: string, law: RegExp, change: Parameters<typeof broken>[0]][] = [
  [
    "overwrites on begin",
    /unchanged/,
    (store) => ({
      begin: async (key, scope, state, lease) => {
        const result = await store.begin(key, scope, state, lease);
        if (!result.created) await store.write(key, result.entry, state);
        return result;
      },
    }),
  ],
  [
    "looks before it begins, in two steps",
    /at once|exactly one creates/,
    (store) => ({
      begin: async (key, scope, state, lease) => {
        const present = await store.read(key);
        await otherStatement();
        const { entry } = await store.begin(key, scope, state, lease);
        return { entry, created: present === undefined };
      },
    }),
  ],
  [
    "compares revisions first and writes then, in two steps",
    /one order that explains it/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const present = await store.read(key);
        if (present?.revision !== id.revision) return store.write(key, id, state, leaseMs);
        await otherStatement();
        const { revision = 1 } = (await store.read(key)) ?? {};
        return store.write(key, { ...id, revision }, state, leaseMs);
      },
    }),
  ],
  [
    "takes leases that have not expired",
    /while a lease lasts/,
    (store) => ({
      acquire: async (key, lease) => {
        const entry = await store.read(key);
        if (entry !== undefined) await store.release(key, entry);
        return store.acquire(key, lease);
      },
    }),
  ],
  [
    "keeps the epoch when it is taken over",
    /next epoch/,
    (store) => ({
      acquire: async (key, lease) => {
        const entry = await store.acquire(key, lease);
        return entry && { ...entry, epoch: 1 };
      },
    }),
  ],
  [
    "lets a stale owner write",
    /taken over can't write/,
    (store) => ({
      write: async (key, id, state, leaseMs) => store.write(key, (await store.read(key)) ?? id, state, leaseMs),
    }),
  ],
  ...(["write", "renew", "release", "replaceQuote"] as const).map((method): (typeof mistakes)[number] => [
    `compares epochs but no nonces on ${method}`,
    /another nonce/,
    (store) => {
      const present = async (key: string, { epoch }: { readonly epoch: number }): Promise<StateId> => {
        const entry = await store.read(key);
        return entry?.epoch === epoch ? entry : { epoch, nonce: "another", revision: 1 };
      };
      const change: Partial<Journal> = {
        write: async (key, id, ...rest) => store.write(key, await present(key, id), ...rest),
        renew: async (key, id, leaseMs) => store.renew(key, await present(key, id), leaseMs),
        release: async (key, id) => store.release(key, await present(key, id)),
        replaceQuote: async (key, id, ...rest) => store.replaceQuote(key, await present(key, id), ...rest),
      };
      return { [method]: change[method] };
    },
  ]),
  ["forgets to renew", /renew/, () => ({ renew: async () => true })],
  ["forgets to release", /release/, () => ({ release: async () => {} })],
  [
    "extends the lease on every write",
    /does not extend/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const written = await store.write(key, id, state, leaseMs);
        if (!state.settled) await store.renew(key, id, 600_000);
        return written;
      },
    }),
  ],
  [
    "forgets the lease on write",
    /write with a lease/,
    (store) => ({ write: (key, id, state) => store.write(key, id, state) }),
  ],
  [
    "writes with a lease that was released",
    /write with a lease/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const written = await store.write(key, id, state);
        if (leaseMs !== undefined && !state.settled) await store.renew(key, id, leaseMs);
        return written;
      },
    }),
  ],
  [
    "compares no revisions on write",
    /names the state that it replaces/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const { revision = 1 } = (await store.read(key)) ?? {};
        return store.write(key, { ...id, revision }, state, leaseMs);
      },
    }),
  ],
  [
    "refuses the repetition of a write",
    /its own repetition/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const present = await store.read(key);
        return present?.revision === id.revision && store.write(key, id, state, leaseMs);
      },
    }),
  ],
  [
    "extends the lease again when a write is repeated",
    /its own repetition/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const written = await store.write(key, id, state, leaseMs);
        if (written && leaseMs !== undefined && !state.settled) await store.renew(key, id, leaseMs);
        return written;
      },
    }),
  ],
  [
    "takes every write of an owner for a repetition",
    /its own repetition/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const present = await store.read(key);
        const isOwn = present?.nonce === id.nonce && present.epoch === id.epoch;
        return (await store.write(key, id, state, leaseMs)) || (isOwn && present.leaseUntilMs !== undefined);
      },
    }),
  ],
  [
    "forgets the mark",
    /stores a mark/,
    (store) => ({
      write: (key, id, state, leaseMs) => store.write(key, id, { ...state, incarnationMark: undefined }, leaseMs),
    }),
  ],
  [
    "confirms a quote by a clock that it read before",
    /very end of its time/,
    (store, clock) => ({
      replaceQuote: async (key, seen, state, lease, expired) => {
        const present = await store.read(key);
        if (expired === false && present?.isExpired === true) return undefined;
        clock.nowMs += 20;
        return store.replaceQuote(key, seen, state, lease, expired === false ? undefined : expired);
      },
    }),
  ],
  ["fences nothing", /fence a quote/, (store) => ({ fenceQuote: async (key) => store.read(key) })],
  [
    "prolongs a quote that it fences",
    /fenceQuote/,
    (store) => ({
      fenceQuote: async (key, seen, nonce) => {
        const quote = await store.read(key);
        const lease = { owner: "a worker", leaseMs: 600_000, nonce };
        return quote && store.replaceQuote(key, seen, { ...quote, quoteTtlMs: 600_000 }, lease, undefined);
      },
    }),
  ],
  [
    "compares no revisions and nonces when it replaces a quote",
    /another nonce|fenceQuote/,
    (store) => ({
      replaceQuote: async (key, seen, ...rest) => store.replaceQuote(key, (await store.read(key)) ?? seen, ...rest),
    }),
  ],
  [
    "looks whose lease it is, and renews then",
    /is taken over meanwhile/,
    (store) => ({
      renew: async (key, { epoch, nonce }, leaseMs) => {
        const now = await afterLooking(store, key, { epoch, nonce });
        return now !== undefined && store.renew(key, now, leaseMs);
      },
    }),
  ],
  [
    "looks whose lease it is, and releases then",
    /is taken over meanwhile/,
    (store) => ({
      release: async (key, { epoch, nonce }) => {
        const now = await afterLooking(store, key, { epoch, nonce });
        if (now !== undefined) await store.release(key, now);
      },
    }),
  ],
  [
    "looks whose flow it is, and writes then",
    /is taken over meanwhile/,
    (store) => ({
      write: async (key, id, state, leaseMs) => {
        const { epoch, nonce, revision } = id;
        const now = await afterLooking(store, key, { epoch, nonce, revision });
        return store.write(key, now ?? id, state, leaseMs);
      },
    }),
  ],
  [
    "looks whether a lease is over, and takes it by its epoch then",
    /is taken over meanwhile/,
    (store, clock) => ({
      acquire: async (key, lease, observed) => {
        const present = await store.read(key);
        if (observed !== undefined || (present?.leaseUntilMs ?? 0) > clock.nowMs) {
          return store.acquire(key, lease, observed);
        }
        await otherStatement();
        const now = await store.read(key);
        if (now === undefined || now.epoch !== present?.epoch) return undefined;
        return store.acquire(key, lease, { ...now, leaseUntilMs: now.leaseUntilMs ?? 1 });
      },
    }),
  ],
  [
    "looks which quote it is, and fences then",
    /replace or fence a quote at once/,
    (store) => ({
      fenceQuote: async (key, seen, nonce) => {
        const now = await afterLooking(store, key, { nonce: seen.nonce, revision: seen.revision });
        return now && store.fenceQuote(key, now, nonce);
      },
    }),
  ],
  [
    "compares no revisions when it replaces a quote",
    /refuses what is no quote/,
    (store) => ({
      replaceQuote: async (key, seen, ...rest) => {
        const { revision = 1 } = (await store.read(key)) ?? {};
        return store.replaceQuote(key, { ...seen, revision }, ...rest);
      },
    }),
  ],
  [
    "compares no revisions when it fences a quote",
    /fenceQuote/,
    (store) => ({
      fenceQuote: async (key, seen, nonce) => {
        const { revision = 1 } = (await store.read(key)) ?? {};
        return store.fenceQuote(key, { ...seen, revision }, nonce);
      },
    }),
  ],
  [
    "believes whoever says that a lease is over",
    /as it was observed/,
    (store) => ({
      acquire: async (key, lease, observed) => {
        const entry = await store.read(key);
        if (entry !== undefined && observed !== undefined) await store.release(key, entry);
        return store.acquire(key, lease);
      },
    }),
  ],
  [
    "does not count what was pruned as paid",
    /scopes counts/,
    (store) => ({ scopes: async () => (await store.scopes()).map((scope) => ({ ...scope, paid: 0 })) }),
  ],
  [
    "takes flows that somebody has for left",
    /backlog counts/,
    (store) => ({
      backlog: async () => (await store.backlog()).map((count) => ({ ...count, unowned: count.flows })),
    }),
  ],
  [
    "says how old the newest flow of the backlog is",
    /backlog counts/,
    (store) => ({ backlog: async () => (await store.backlog()).map((count) => ({ ...count, oldestMs: 0 })) }),
  ],
  [
    "says how long ago the backlog was written last",
    /backlog counts/,
    (store, clock) => ({
      backlog: async () => {
        const counts = (await store.backlog()).map(async ({ service, gateway, phase, ...count }) => {
          const entries = await store.list({ scope: { service, gateway }, phase, limit: 10_000 });
          const oldestMs = clock.nowMs - Math.min(...entries.map(({ updatedAtMs }) => updatedAtMs));
          return { ...count, service, gateway, phase, oldestMs };
        });
        return Promise.all(counts);
      },
    }),
  ],
  [
    "lets tombstones expire",
    /a tombstone stays/,
    (store, clock) => {
      const isGone = (prunedAtMs: number | undefined) => prunedAtMs !== undefined && prunedAtMs < clock.nowMs - 100;
      return {
        read: async (key) => {
          const entry = await store.read(key);
          return isGone(entry?.prunedAtMs) ? undefined : entry;
        },
      };
    },
  ],
  [
    "never lets a quote expire",
    /a quote expires/,
    (store) => ({
      read: async (key) => {
        const entry = await store.read(key);
        return entry && { ...entry, isExpired: false };
      },
    }),
  ],
  [
    "confirms quotes that expired",
    /expired or did not/,
    (store) => ({
      replaceQuote: (key, seen, state, lease) => store.replaceQuote(key, seen, state, lease, undefined),
    }),
  ],
  [
    "replaces what is no quote",
    /no quote/,
    (store) => ({
      replaceQuote: async (key, seen, state, lease, expired) => {
        const replaced = await store.replaceQuote(key, seen, state, lease, expired);
        if (replaced !== undefined || (await store.read(key))?.phase === "quoted") return replaced;
        return (await store.write(key, seen, state)) ? store.acquire(key, lease) : undefined;
      },
    }),
  ],
  [
    "looks before it replaces a quote, in two steps",
    /exactly one does/,
    (store) => ({
      replaceQuote: async (key, seen, state, lease, expired) => {
        const present = await store.read(key);
        const isSame = present?.nonce === seen.nonce && present.epoch === seen.epoch;
        const isFit = present?.phase === "quoted" && isSame && present.revision === seen.revision;
        if (!isFit || present.isExpired === !(expired ?? present.isExpired)) return undefined;
        await otherStatement();
        return (
          (await store.replaceQuote(key, seen, state, lease, expired)) ?? {
            ...present,
            ...state,
            scope: present.scope,
            epoch: seen.epoch + 1,
          }
        );
      },
    }),
  ],
  [
    "takes over quotes",
    /acquireAbandoned skips/,
    (store) => ({
      acquireAbandoned: async (scope, lease, after) => {
        const [quoted] = await store.list({ scope, phase: "quoted", after, limit: 1 });
        return (quoted && (await store.acquire(quoted.key, lease))) ?? store.acquireAbandoned(scope, lease, after);
      },
    }),
  ],
  [
    "looks for abandoned flows on the first page of its database",
    /acquireAbandoned skips/,
    (store) => ({
      acquireAbandoned: async (scope, lease, after) => {
        const page = await store.list({ scope, after, limit: 1000 });
        const entry = await store.acquireAbandoned(scope, lease, after);
        if (entry === undefined || page.some(({ key }) => key === entry.key)) return entry;
        await store.release(entry.key, entry);
        return undefined;
      },
    }),
  ],
  [
    "looks for a phase on the first page of its database",
    /acquireAbandoned skips/,
    (store) => ({
      list: async ({ scope, phase, after, limit }) =>
        (await store.list({ scope, after, limit: 1000 }))
          .filter((entry) => phase === undefined || entry.phase === phase)
          .slice(0, limit),
    }),
  ],
  [
    "takes gateways in capital letters for those in small ones",
    /own scope/,
    (store) => ({
      acquireAbandoned: async ({ service, gateway = "" }, lease, after) => {
        for (const scope of await store.scopes()) {
          const isOwn =
            scope.service === service && (gateway || scope.gateway).toLowerCase() === scope.gateway.toLowerCase();
          const entry = isOwn ? await store.acquireAbandoned(scope, lease, after) : undefined;
          if (entry !== undefined) return entry;
        }
        return undefined;
      },
    }),
  ],
  [
    "returns abandoned flows from the first each time",
    /UTF-8 bytes/,
    (store) => ({
      acquireAbandoned: (scope, lease, after) =>
        store.acquireAbandoned(scope, lease, after?.slice(0, "verify 000000000 00000000 00 ".length)),
    }),
  ],
  [
    "takes over flows of other gateways",
    /own scope/,
    (store) => ({ acquireAbandoned: ({ service }, lease, after) => store.acquireAbandoned({ service }, lease, after) }),
  ],
  [
    "lists flows of other gateways",
    /own scope/,
    (store) => ({
      list: (query) => store.list({ ...query, scope: { service: query.scope.service }, limit: query.limit }),
      acquireAbandoned: (...parameters) => store.acquireAbandoned(...parameters),
    }),
  ],
  [
    "counts flows of other gateways",
    /own scope|nothing is left out/,
    (store) => ({ counts: ({ service }) => store.counts({ service }) }),
  ],
  [
    "lists by UTF-16 units",
    /UTF-8 bytes/,
    (store) => ({
      list: async ({ scope, phase, after = "", limit }) =>
        (await store.list({ scope, phase, limit: 1000 }))
          .filter(({ key }) => key > after)
          .sort((one, other) => (one.key < other.key ? -1 : 1))
          .slice(0, limit),
    }),
  ],
  [
    "deletes what it prunes",
    /tombstone/,
    (store) => {
      const deleted = new Set<string>();
      return {
        prune: async (options) => {
          const before = await keysOf(store);
          const report = await store.prune(options);
          const left = new Set(await keysOf(store));
          for (const key of before) if (!left.has(key)) deleted.add(key);
          return report;
        },
        read: async (key) => (deleted.has(key) ? undefined : store.read(key)),
      };
    },
  ],
  [
    "prunes what is held",
    /tombstone/,
    (store) => ({
      prune: async (options) => {
        if (options.settledBeforeMs !== undefined) {
          for (const key of await keysOf(store)) {
            const entry = await store.read(key);
            if (entry?.phase === "held")
              await store.write(key, entry, { ...entry, phase: "paid", quoteTtlMs: undefined });
          }
        }
        return store.prune(options);
      },
    }),
  ],
  [
    "leases tombstones",
    /tombstone/,
    (store) => ({
      acquire: async (key, lease) => {
        const entry = await store.read(key);
        return entry?.prunedAtMs === undefined ? store.acquire(key, lease) : { ...entry, epoch: entry.epoch + 1 };
      },
    }),
  ],
  [
    "prunes evidence too",
    /keeps evidence/,
    (store) => ({ prune: (options) => store.prune({ ...options, keep: "nothing" }) }),
  ],
  [
    "deletes fresh quotes",
    /prune/,
    (store) => ({
      prune: (options) =>
        store.prune(options.quotedBeforeMs === undefined ? options : { ...options, quotedBeforeMs: 8.64e15 }),
    }),
  ],
  [
    "deletes quotes by when they began",
    /prune deletes quotes/,
    (store) => {
      const deleted = new Set<string>();
      return {
        prune: async (options) => {
          const { quotedBeforeMs = 0 } = options;
          for (const { key, createdAtMs } of await quotesOf(store)) if (createdAtMs < quotedBeforeMs) deleted.add(key);
          return store.prune(options);
        },
        read: async (key) => (deleted.has(key) ? undefined : store.read(key)),
      };
    },
  ],
  [
    "looks which quotes have expired, and deletes them then",
    /replaces a quote meanwhile/,
    (store) => {
      const deleted = new Set<string>();
      return {
        prune: async (options) => {
          const { quotedBeforeMs = 0 } = options;
          const quotes = await quotesOf(store);
          await otherStatement();
          const report = await store.prune(options);
          for (const { key, expiresAtMs = 0 } of quotes) {
            const isLeft = (await store.read(key)) !== undefined;
            if (expiresAtMs < quotedBeforeMs && isLeft) deleted.add(key);
          }
          return report;
        },
        read: async (key) => (deleted.has(key) ? undefined : store.read(key)),
      };
    },
  ],
  [
    "takes a flow over when it is begun again after its lease",
    /an expired lease can be taken over/,
    (store, clock) => ({
      begin: async (key, scope, state, lease) => {
        const begun = await store.begin(key, scope, state, lease);
        const { leaseUntilMs = Number.POSITIVE_INFINITY } = begun.entry;
        const taken = leaseUntilMs <= clock.nowMs ? await store.acquire(key, lease) : undefined;
        return taken === undefined ? begun : { entry: taken, created: true };
      },
    }),
  ],
  [
    "remembers that there is no such flow",
    /begin stores/,
    (store) => {
      const absent = new Set<string>();
      return {
        read: async (key) => {
          const entry = absent.has(key) ? undefined : await store.read(key);
          if (entry === undefined) absent.add(key);
          return entry;
        },
      };
    },
  ],
  [
    "takes capital letters for small ones",
    /UTF-8 bytes|byte by byte/,
    (store) => ({
      begin: (key, scope, state, lease) => store.begin(key.toLowerCase(), scope, state, lease),
      read: async (key) => store.read(key.toLowerCase()),
    }),
  ],
  [
    "cuts data",
    /1 MiB/,
    (store) => ({
      begin: (key, scope, state, lease) =>
        store.begin(key, scope, { ...state, data: state.data.slice(0, 65_536) }, lease),
    }),
  ],
  [
    "stores JSON, and not the text of it",
    /1 MiB/,
    (store) => ({
      begin: (key, scope, state, lease) => store.begin(key, scope, { ...state, data: parsed(state.data) }, lease),
    }),
  ],
  [
    "trims what it writes",
    /1 MiB/,
    (store) => ({
      write: (key, id, state, leaseMs) => store.write(key, id, { ...state, data: state.data.trimEnd() }, leaseMs),
    }),
  ],
  [
    "cuts data when it replaces a quote",
    /1 MiB/,
    (store) => ({
      replaceQuote: (key, seen, state, ...rest) =>
        store.replaceQuote(key, seen, { ...state, data: state.data.slice(0, 65_535) }, ...rest),
    }),
  ],
  [
    "cuts nonces",
    /stored exactly, long ones too/,
    (store) => ({
      begin: (key, scope, state, lease) =>
        store.begin(key, scope, state, { ...lease, nonce: lease.nonce.slice(0, 36) }),
    }),
  ],
  [
    "cuts base URLs",
    /stored exactly, long ones too/,
    (store) => ({
      begin: (key, scope, state, lease) =>
        store.begin(key, { ...scope, service: scope.service.slice(0, 255) }, state, lease),
    }),
  ],
  [
    "returns the ends of leases as text",
    /begin stores/,
    (store) => ({
      begin: async (...given) => {
        const { entry, created } = await store.begin(...given);
        return { created, entry: { ...entry, leaseUntilMs: String(entry.leaseUntilMs) as never } };
      },
    }),
  ],
  [
    "lists flows by the phase in which they began",
    /stored last/,
    (store) => {
      const phases = new Map<string, string>();
      return {
        begin: async (key, scope, state, lease) => {
          const begun = await store.begin(key, scope, state, lease);
          if (begun.created) phases.set(key, state.phase);
          return begun;
        },
        list: async ({ phase, limit, ...query }) =>
          (await store.list({ ...query, limit: 10_000 }))
            .filter(({ key }) => phase === undefined || phases.get(key) === phase)
            .slice(0, limit),
      };
    },
  ],
  [
    "counts what it counted before",
    /stored last/,
    (store) => {
      const counted = new Map<string, Readonly<Record<string, number>>>();
      return {
        counts: async (scope) => {
          const counts = counted.get(JSON.stringify(scope)) ?? (await store.counts(scope));
          counted.set(JSON.stringify(scope), counts);
          return counts;
        },
      };
    },
  ],
  [
    "leaves quotes that were confirmed to nobody",
    /stored last/,
    (store) => {
      const quotes = new Set<string>();
      return {
        begin: async (key, scope, state, lease) => {
          if (state.phase === "quoted") quotes.add(key);
          return store.begin(key, scope, state, lease);
        },
        acquireAbandoned: async (scope, lease, after) => {
          const entry = await store.acquireAbandoned(scope, lease, after);
          if (entry === undefined || !quotes.has(entry.key)) return entry;
          await store.release(entry.key, entry);
          return undefined;
        },
      };
    },
  ],
  [
    "shows a flow that was moved to nobody",
    /stores a mark/,
    (store) => {
      const moved = new Set<string>();
      return {
        write: async (key, id, state, leaseMs) => {
          if (state.scope !== undefined) moved.add(key);
          return store.write(key, id, state, leaseMs);
        },
        list: async (query) => (await store.list(query)).filter(({ key }) => !moved.has(key)),
      };
    },
  ],
  [
    "counts the first page of its database",
    /nothing is left out/,
    (store) => ({
      counts: async (scope) => {
        const counts: Record<string, number> = {};
        for (const { phase } of await store.list({ scope, limit: 1000 })) counts[phase] = (counts[phase] ?? 0) + 1;
        return counts;
      },
    }),
  ],
  [
    "gives up where another process was faster",
    /no flow to two workers/,
    (store, clock) => ({
      acquireAbandoned: async (scope, lease, after) => {
        const entries = await store.list({ scope, after, limit: 10_000 });
        const first = entries.find(({ settled, leaseUntilMs = 0 }) => !settled && leaseUntilMs <= clock.nowMs);
        await otherStatement();
        return first && store.acquire(first.key, lease);
      },
    }),
  ],
  [
    "forgets the mark when it renews",
    /one order that explains it/,
    (store) => {
      const renewed = new Set<string>();
      const shown = (entry: JournalEntry | undefined) =>
        entry !== undefined && renewed.has(`${entry.key} ${entry.revision}`)
          ? { ...entry, incarnationMark: undefined }
          : entry;
      return {
        renew: async (key, id, leaseMs) => {
          renewed.add(`${key} ${(await store.read(key))?.revision}`);
          return store.renew(key, id, leaseMs);
        },
        read: async (key) => shown(await store.read(key)),
      };
    },
  ],
  [
    "prunes what is old, and was paid just now",
    /tombstone/,
    (store) => {
      const paid: JournalEntry[] = [];
      return {
        write: async (key, id, state, leaseMs) => {
          const written = await store.write(key, id, state, leaseMs);
          const entry = await store.read(key);
          if (entry?.phase === "paid") paid.push(entry);
          return written;
        },
        prune: async ({ settledBeforeMs = 0, ...options }) => {
          const old = paid.filter(({ createdAtMs }) => createdAtMs < settledBeforeMs);
          const times = old.map(({ updatedAtMs }) => updatedAtMs + 1);
          return store.prune({ ...options, settledBeforeMs: Math.max(settledBeforeMs, ...times) || undefined });
        },
      };
    },
  ],
  [
    "forgets epochs when it is reopened",
    /outlive/,
    (store) => {
      let isClosed = false;
      return {
        close: async () => {
          isClosed = true;
        },
        write: async (key, id, state, leaseMs) =>
          store.write(key, isClosed ? ((await store.read(key)) ?? id) : id, state, leaseMs),
      };
    },
  ],
];

it.each(mistakes)("finds a journal that %s", async (_, law, change) => {
  const { open, options } = broken(change);
  const found: unknown = await verifyJournal(open, options).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(BrokenLawError);
  expect(found).toMatchObject({ law: expect.stringMatching(law), message: expect.stringContaining("Broken: ") });
});

const untrue: readonly Partial<Journal>[] = [
  { read: async () => undefined },
  { list: async () => [] },
  { write: async () => false },
];

it.each(untrue)("finds a journal that takes the failure of a closed handle for an answer: %o", async (change) => {
  const clock = { nowMs: 1_700_000_000_000 };
  const store = new MemoryJournal({ nowMs: () => clock.nowMs });
  const open = async () => {
    let isClosed = false;
    const close = async () => {
      isClosed = true;
    };
    return new Proxy<Journal>(store, {
      get: (_, name) =>
        name === "close" ? close : (isClosed && Reflect.get(change, name)) || Reflect.get(store, name)?.bind(store),
    });
  };
  const wait = async (ms: number) => {
    clock.nowMs += ms;
  };
  await expect(verifyJournal(open, { openSecond: open, reopen: open, wait })).rejects.toMatchObject({
    law: "a handle that was closed fails, or tells the truth",
  });
});

it("says what could not be checked", async () => {
  const { open, options } = broken(() => ({}));
  const full = await verifyJournal(open, options);
  const bare = await verifyJournal(open, { wait: options.wait });
  expect(full.notChecked).toHaveLength(3);
  expect(bare.notChecked).toHaveLength(5);
  expect(full.held.length).toBe(bare.held.length + 2);
});

it("closes what it opened, also after a broken law", async () => {
  let closed = 0;
  const { open, options } = broken(() => ({
    read: async () => undefined,
    close: async () => {
      closed++;
    },
  }));
  await expect(verifyJournal(open, options)).rejects.toBeInstanceOf(BrokenLawError);
  expect(closed).toBe(1);
});
