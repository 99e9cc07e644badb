import type { Mutation } from "./mutations.js";

const memory = "src/flows/memory-journal.ts";
const lease = "src/flows/ownership/lease.ts";
const own = "src/flows/ownership/own-flow.ts";
const waits = "src/flows/looking/wait-as-owner.ts";
const move = "src/flows/move-flows.ts";

/** What keeps a journal's late and repeated writes, its failovers and its clock from doing harm. */
export const journalMutations: readonly Mutation[] = [
  {
    name: "a write names the revision that it replaces",
    profile: "late writes",
    file: memory,
    find: "if (flow?.revision !== id.revision) return false;",
    replace: "if (flow === undefined) return false;",
  },
  {
    name: "a quote is replaced at the revision and nonce at which it was seen",
    profile: "late confirmations",
    patches: [
      {
        file: memory,
        find: "const flow = this.#owned(key, seen);\n    return flow?.phase",
        replace: "const flow = this.#flows.get(key);\n    return flow?.phase",
      },
      {
        file: memory,
        find: 'flow?.phase === "quoted" && flow.revision === seen.revision ?',
        replace: 'flow?.phase === "quoted" ?',
      },
    ],
  },
  {
    name: "a quote that could not be confirmed is fenced before anybody is told so",
    profile: "late confirmations",
    file: own,
    find: "(await retryJournal(replace)) ?? (await fence(context, seen))",
    replace: "await retryJournal(replace)",
  },
  {
    name: "a quote is fenced before a call that failed otherwise says that it takes no money",
    profile: "failed confirmations",
    file: "src/flows/ownership/flow-truth.ts",
    find: 'found?.phase === "quoted" ? await fence(context, found) : found',
    replace: "found",
  },
  {
    name: "an owner that may lack a claim waits before it looks",
    profile: "failovers",
    file: "src/flows/steps/request-funds.ts",
    find: "const isSure = !owned.mustLook || owned.lease.knowsAllClaims;",
    replace: "const isSure = true;",
  },
  {
    name: "an owner that may lack a claim waits before it gives money back",
    profile: "failovers after refusals",
    file: "src/flows/steps/read-back.ts",
    find: "const aloneMs = lagMs + (lease.knowsAllClaims ? 0 : leaseMs);",
    replace: "const aloneMs = lagMs;",
  },
  {
    name: "an owner that may lack a claim looks again before it gives money back for a refusal that is stored",
    profile: "failbacks",
    file: "src/flows/steps/release-funds.ts",
    find: "if (!owned.mustLook || lease.knowsAllClaims) return;",
    replace: "if (!owned.mustLook || lease.ownedSinceMs >= 0) return;",
  },
  {
    name: "the mark of the journal's history is stored only by owners that know of no lost claim",
    profile: "failovers",
    file: lease,
    find: "const isMarked = this.knowsAllClaims && this.#incarnation !== undefined;",
    replace: "const isMarked = this.#incarnation !== undefined;",
  },
  {
    name: "the mark of the journal's history is compared with the present one",
    profile: "failovers after refusals",
    file: lease,
    find: "incarnation !== undefined && incarnation === incarnationMark;",
    replace: "incarnation !== undefined && incarnationMark !== undefined;",
  },
  {
    name: "one owner has waited the whole time before money is given back",
    profile: "failovers after refusals",
    file: waits,
    find: "return { isDue: true, isProof: false };",
    replace: "return { isDue: true, isProof: true };",
  },
  {
    name: "what owners have waited is added up",
    profile: "short lives",
    file: waits,
    find: "const togetherLeftMs = togetherMs - waits.ms;",
    replace: "const togetherLeftMs = Number.POSITIVE_INFINITY;",
  },
  {
    name: "a lease that stays as it is for its whole length is over, whatever the journal's clock says",
    profile: "journal's clock",
    file: "src/flows/ownership/lease-observer.ts",
    find: "nowMs - known.sinceMs >= leaseMs ? known : undefined",
    replace: "undefined",
  },
  {
    name: "a flow that is moved gets another owner and another revision (two places)",
    profile: "addresses",
    patches: [
      {
        file: move,
        find: "const owned = await acquireEntry(this.#context, entry.key, entry);",
        replace:
          'const { journal } = this.#context;\n    if (entry.key !== "") return (await journal.write(entry.key, entry, await this.#encode(entry))) ? "moved" : "leased";\n    const owned = await acquireEntry(this.#context, entry.key, entry);',
      },
      {
        file: memory,
        find: "const written = { ...flow, ...this.#stored(flow, state), scope, incarnationMark };",
        replace:
          "const written = { ...flow, ...this.#stored(flow, state), scope, incarnationMark, ...(state.scope && { revision: flow.revision }) };",
      },
    ],
  },
  {
    name: "what is stored of a flow names its new base URL, too",
    profile: "addresses",
    file: move,
    find: "await codec.encode(entry.key, scope, state);",
    replace: "await codec.encode(entry.key, entry.scope, state);",
  },
  {
    name: "open flows under another base URL are shown",
    profile: "addresses",
    file: "src/flows/flows-elsewhere.ts",
    find: ": { open: open + flows, held };",
    replace: ": { open, held };",
  },
];
