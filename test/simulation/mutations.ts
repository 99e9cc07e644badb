import { journalMutations } from "./journal-mutations.js";
import type { ProfileName } from "./profiles.js";

/** A change of one source. `find` must occur exactly once. */
export interface Patch {
  /** From the repository's root. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A rule that is taken out, or several where one hides another. */
export type Mutation = (Patch | { readonly patches: readonly Patch[] }) & {
  readonly name: string;
  /** The world in which it shows soonest; by default the one in which everything happens now and then. */
  readonly profile?: ProfileName;
};

export function patchesOf(mutation: Mutation): readonly Patch[] {
  return "patches" in mutation ? mutation.patches : [mutation];
}

const flows = (name: string) => `src/flows/${name}.ts`;
const reading = (name: string) => `src/payments/${name}.ts`;

const rawErrorOfStep: Patch = {
  file: flows("steps/drive-flow"),
  find: "throw new FlowPausedError(key, { phase: state.phase, cause: error, request: requestOf(state) });",
  replace: "throw error;",
};
const rawErrorOfCall: Patch = {
  file: flows("ownership/flow-truth"),
  find: "if (isTruth(error)) return error;",
  replace: "return error;",
};
const rawErrorOfWrite: Patch = {
  file: flows("ownership/flow-truth"),
  find: "throw isTruth(cause) ? cause : new FlowPausedError(key, { cause });",
  replace: "throw cause;",
};
const noLookBeforeClaim: Patch = {
  file: flows("steps/request-funds"),
  find: "const looked = owned.mustLook || isLost ? await",
  replace: "const looked = owned.mustLook && isLost ? await",
};
const noLookAfterTakeover: Patch = {
  ...noLookBeforeClaim,
  replace: "const looked = isLost ? await",
};
const noLookAfterLoss: Patch = {
  ...noLookBeforeClaim,
  replace: "const looked = owned.mustLook ? await",
};
const lostEntryGoesOn: Patch = {
  file: flows("steps/request-funds"),
  find: "if (!isLost) return undefined;",
  replace: "if (isLost !== undefined) return undefined;",
};
const lookalikeIsNothing: Patch = {
  file: flows("steps/request-funds"),
  find: "if (lookalike !== undefined) {",
  replace: "if (lookalike === null) {",
};

const owned = "return flow?.epoch === id.epoch && flow.nonce === id.nonce && isPresent(flow) ? flow : undefined;";

/** A write has to name the newest revision, which hides what its epoch and nonce are compared for. */
const ofAnyRevision = {
  file: flows("memory-journal"),
  find: "if (flow?.revision !== id.revision) return false;",
  replace: "if (flow === undefined) return false;",
};

/** The rules of the durable flow that someone might take for superfluous. */
export const mutations: readonly Mutation[] = [
  {
    name: "errors of a stored flow say that it owns the payment (three places)",
    patches: [rawErrorOfStep, rawErrorOfCall, rawErrorOfWrite],
  },
  {
    name: "an error says `none` only after the key was read again (two places)",
    patches: [rawErrorOfCall, rawErrorOfWrite],
  },
  {
    name: "`run` copies the request before it waits for anything",
    file: flows("state/copy-request"),
    find: "export function copyRequest(request: PaymentIntentRequest): PaymentIntentRequest {",
    replace:
      "export function copyRequest(request: PaymentIntentRequest): PaymentIntentRequest {\n  if (request !== null) return request;",
  },
  {
    name: "a 2xx that is not this payment does not settle a flow",
    profile: "proxies",
    file: "src/http/read-response.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a source
    find: "return isOwn ? undefined : `its ${identifiedBy} is not the one that was sent`;",
    replace: "return isOwn ? undefined : undefined;",
  },
  {
    name: "another's 4xx is not the service's own",
    profile: "proxies",
    file: "src/http/decision.ts",
    find: 'return isOwn ? "refused" : "refused-by-another";',
    replace: 'return isOwn || status >= 400 ? "refused" : "refused-by-another";',
  },
  {
    name: "neither 401 nor 429 is answered by sending again before a look",
    file: "src/http/call.ts",
    find: '("presigned" in this.#source && kind === "status");',
    replace: '("presigned" in this.#source && kind === "unusable");',
  },
  {
    name: "a look ends early only where the tokens have proved to go one way",
    profile: "busy lists",
    patches: [
      {
        file: reading("read-payments"),
        find: "if (direction === undefined || order.count < provingTokens) return false;",
        replace: "direction ??= order.direction ?? 'down';",
      },
      {
        file: reading("read-payments"),
        find: "if (!isProved) return false;",
        replace: "",
      },
      // What is read again in the order of creation shows it, too.
      {
        file: reading("read-payments"),
        find: "const again = this.#seen > onFirstPage ? rereading : undefined;",
        replace: "const again = this.#seen < 0 ? rereading : undefined;",
      },
    ],
  },
  {
    name: "what came from a cache proves no absence",
    profile: "cached lists",
    file: flows("looking/look-goal"),
    find: "if (ageSeconds !== undefined) return",
    replace: "if (ageSeconds === -1) return",
  },
  {
    name: "each page begins with the last payment of the page before it",
    profile: "stale pages",
    patches: [
      { file: reading("page-sequence"), find: "#isPlain = false;", replace: "#isPlain = true;" },
      {
        file: reading("page-sequence"),
        find: "...(isOnly ? undefined : { doubt: oneByOne })",
        replace: "...(isOnly ? undefined : {})",
      },
      // What is read again in the order of creation shows it, too.
      {
        file: reading("read-payments"),
        find: "const again = this.#seen > onFirstPage ? rereading : undefined;",
        replace: "const again = this.#seen < 0 ? rereading : undefined;",
      },
      {
        file: reading("read-payments"),
        find: "isOnePage ? undefined : rereading",
        replace: "isOnePage ? undefined : undefined",
      },
    ],
  },
  {
    name: "a look has to meet its mark",
    profile: "old lists",
    patches: [
      { file: flows("looking/look-goal"), find: 'if (mark === "missed") {', replace: 'if (mark === "found") {' },
    ],
  },
  {
    name: "a list has to have the payments that the process knows of",
    profile: "old lists",
    patches: [
      { file: flows("looking/look-goal"), find: "if (missing !== undefined) {", replace: "if (missing === null) {" },
    ],
  },
  {
    name: "a list is not empty where a payment of the gateway is known",
    profile: "first payments",
    file: flows("looking/look-goal"),
    find: "return this.seen === 0 && isAnyKnown",
    replace: "return this.seen < 0 && isAnyKnown",
  },
  {
    name: "a look reads on beyond its mark for as long as the service's clocks may differ",
    profile: "machines' clocks",
    file: flows("looking/look-for-payment"),
    find: "(service.clockSkewMs ?? defaultClockSkewMs)",
    replace: "0 * (service.clockSkewMs ?? defaultClockSkewMs)",
  },
  {
    name: "a look reads on before the bank's time for as long as the bank's clock may differ",
    profile: "the bank's clock",
    file: flows("looking/look-for-payment"),
    find: "takenAtMs - bankSkewMs",
    replace: "takenAtMs - 0 * bankSkewMs",
  },
  {
    name: "what could not be read makes a look incomplete",
    profile: "cached lists",
    patches: [
      { file: flows("looking/look-for-payment"), find: "complete: problem === undefined,", replace: "complete: true," },
    ],
  },
  {
    name: "a record with our transaction id and another signature is not ours",
    file: flows("looking/match-payment"),
    find: 'if (isNamedLike(payment, flow) || isNamedLike(body, flow)) return "lookalike";',
    replace: 'if (isNamedLike(payment, flow) || isNamedLike(body, flow)) return "own";',
  },
  { name: "a flow that was taken over, or replayed, looks before its first claim", patches: [noLookBeforeClaim] },
  { name: "a flow that was taken over looks before its first claim", patches: [noLookAfterTakeover] },
  { name: "a flow whose money had been taken before looks before its first claim", patches: [noLookAfterLoss] },
  {
    name: "a payment that is dated ahead is no mark",
    profile: "dates ahead",
    file: flows("looking/newest-payment"),
    find: "const mark = this.#isAhead(newest) ?",
    replace: "const mark = this.#isAhead({}) ?",
  },
  {
    name: "that look ignores the mark where an earlier entry may have been lost",
    profile: "lost entries",
    file: flows("looking/look-for-payment"),
    find: 'const range = rangeOf(context, flow, decides === "reports" || markIsSure(flow));',
    replace: "const range = rangeOf(context, flow, true);",
  },
  {
    name: "an entry that was lost is held unless its payment is found, and a lookalike is no absence (two places)",
    patches: [lostEntryGoesOn, lookalikeIsNothing],
  },
  {
    name: "a nonce is compared beside the epoch",
    profile: "restores after takeovers",
    patches: [
      {
        file: flows("memory-journal"),
        find: owned,
        replace: "return flow?.epoch === id.epoch && isPresent(flow) ? flow : undefined;",
      },
      ofAnyRevision,
    ],
  },
  {
    name: "a write is refused once another process owns the flow",
    patches: [
      {
        file: flows("memory-journal"),
        find: owned,
        replace: "return flow !== undefined && isPresent(flow) && id.epoch > 0 ? flow : undefined;",
      },
      ofAnyRevision,
    ],
  },
  {
    name: "a row that holds another flow can't be read",
    profile: "misplaced rows",
    file: flows("state/flow-codec"),
    find: "return isOfScope && stored.version === version && stored.key === key;",
    replace: "return isOfScope && stored.version === version;",
  },
  {
    name: "a worker's errors name their flows",
    profile: "misplaced rows",
    file: flows("ownership/recovery"),
    find: "return { error: error instanceof FlowPausedError ? error : new FlowPausedError(key, { cause: error }) };",
    replace: "return { error: error as FlowPausedError };",
  },
  {
    name: "pruning leaves a tombstone",
    file: flows("memory-journal"),
    find: 'this.#put({ ...flow, data: "", evidence, prunedAtMs: this.#nowMs() });',
    replace: "if (evidence !== undefined) this.#flows.delete(flow.key);",
  },
  {
    name: "after a definite no the payment is looked for before the money is given back",
    file: flows("steps/read-back"),
    find: "const wait = waitBefore(context, owned, begun);",
    replace:
      'if (begun.refusal !== undefined && !isPassing(begun.refusal)) return { state: { ...decided(begun), phase: "refused", refusal: begun.refusal } };\n  const wait = waitBefore(context, owned, begun);',
  },
  {
    name: "that look waits longer than the listing lags",
    file: flows("steps/read-back"),
    find: "const aloneMs = lagMs + (lease.knowsAllClaims ? 0 : leaseMs);",
    replace: "const aloneMs = 0 * lagMs + (lease.knowsAllClaims ? 0 : leaseMs);",
  },
  {
    name: "a refusal of a request that was sent again proves nothing",
    profile: "single use",
    file: flows("steps/read-back"),
    find: "if (!isAlone || (isAbsent && !isFirst)) return held(state);",
    replace: "if (!isAlone || (isAbsent && !isFirst && state === undefined)) return held(state);",
  },
  {
    name: "by default absence proves nothing",
    file: flows("steps/read-back"),
    find: "return held(looked);",
    replace: 'return mayBeSentAgain(looked) ? sendAgain(owned, absent(looked), "listedWithinMs") : held(looked);',
  },
  {
    name: "proof of absence counts from this owner's claim too, not from the takeover alone",
    profile: "listed in time",
    file: flows("ownership/lease"),
    find: "this.#ownedSinceMs = at.monotonicMs;",
    replace: "this.#ownedSinceMs = Math.min(this.#ownedSinceMs, at.monotonicMs);",
  },
  {
    name: "proof of absence counts a whole lease in which the request may have been sent",
    profile: "late in the lease",
    file: flows("steps/read-back"),
    find: "const aloneMs = leaseMs + (context.service.listedWithinMs ?? 0);",
    replace: "const aloneMs = 0 * leaseMs + (context.service.listedWithinMs ?? 0);",
  },
  {
    name: "proof of absence counts the time on the way",
    profile: "late in the lease",
    file: flows("steps/read-back"),
    find: "const aloneMs = leaseMs + (context.service.listedWithinMs ?? 0);",
    replace: "const aloneMs = leaseMs + 0 * (context.service.listedWithinMs ?? 0);",
  },
  {
    name: "proof of absence is measured by the monotonic clock",
    profile: "corrected clocks",
    patches: [
      {
        file: flows("ownership/lease"),
        find: "  #ownedSinceMs = clock.monotonicMs();",
        replace: "  #ownedSinceMs = clock.wallMs();",
      },
      {
        file: flows("ownership/lease"),
        find: "if (hasEnded) this.#ownedSinceMs = clock.monotonicMs();",
        replace: "if (hasEnded) this.#ownedSinceMs = clock.wallMs();",
      },
      {
        file: flows("ownership/lease"),
        find: "this.#ownedSinceMs = at.monotonicMs;",
        replace: "this.#ownedSinceMs = at.wallMs;",
      },
      {
        file: flows("looking/wait-as-owner"),
        find: "return clock.monotonicMs() - Math.max(lease.ownedSinceMs, refusedAtMs);",
        replace: "return clock.wallMs() - Math.max(lease.ownedSinceMs, refusedAtMs);",
      },
    ],
  },
  {
    name: "a refused intent rejects a key only if there is no entry yet",
    file: flows("run-flow"),
    find: "if (!isMine) return undefined;",
    replace: "if (!isMine && !hasOutcome(state)) return undefined;",
  },
  {
    name: "a confirmed quote is stored as asking for the money, before it is asked for",
    file: flows("quote-flow"),
    find: "scopeOf(context, quote.request), state, false);",
    replace: "scopeOf(context, quote.request), quote, false);",
  },
  {
    name: "an expired quote is not confirmed (two places)",
    patches: [
      { file: flows("quote-flow"), find: "if (entry.isExpired) {", replace: 'if (intentId === "") {' },
      {
        file: flows("quote-flow"),
        find: "scopeOf(context, quote.request), state, false);",
        replace: "scopeOf(context, quote.request), state, undefined);",
      },
    ],
  },
  {
    name: "`confirm` pays the price that it names",
    profile: "quotes",
    file: flows("quote-flow"),
    find: "assertFits: (state) => assertSameIntent(key, state, intentId),",
    replace: "assertFits: (state) => state === undefined && assertSameIntent(key, state, intentId),",
  },
  {
    name: "the claim is stored before it is sent",
    profile: "late payments",
    file: flows("steps/drive-flow"),
    find: "if (next !== state) await storeState(context, owned.lease, reached);",
    replace: 'if (next !== state && next.phase !== "claimed") await storeState(context, owned.lease, reached);',
  },
  {
    name: "a claim of an earlier owner is never sent, and may have been",
    profile: "abandoned claims",
    file: flows("steps/send-claim"),
    find: "if (sendBy === undefined) {",
    replace: "if (sendBy === undefined) return notSent(state, leaseEnded());\n  if (sendBy === undefined) {",
  },
  {
    name: "a claim is only sent within its lease (two places)",
    profile: "stopped claims",
    patches: [
      {
        file: flows("steps/send-claim"),
        find: "const timeoutMs = surelyLeftMs(sendBy, now());",
        replace: "const timeoutMs = Math.max(1000, surelyLeftMs(sendBy, now()));",
      },
      {
        file: "src/timing/deadline.ts",
        find: "if (this.#sendBy !== undefined && surelyLeftMs(this.#sendBy, now()) <= 0)",
        replace: "if (this.#sendBy !== undefined && surelyLeftMs(this.#sendBy, now()) === undefined)",
      },
    ],
  },
  {
    name: "a lease is over when the monotonic clock says so (two places)",
    profile: "stopped claims",
    patches: [
      {
        file: "src/timing/timestamp.ts",
        find: "return setBackMs > correctionMs ? 0 : leftMs(until, at);",
        replace: "return setBackMs > Infinity ? 0 : leftMs(until, at);",
      },
      {
        file: "src/timing/timestamp.ts",
        find: "return Math.min(until.wallMs - at.wallMs, until.monotonicMs - at.monotonicMs);",
        replace: "return Math.min(until.wallMs - at.wallMs);",
      },
    ],
  },
  {
    name: "a lease is over when the wall clock says so",
    profile: "stopped claims",
    file: "src/timing/timestamp.ts",
    find: "return Math.min(until.wallMs - at.wallMs, until.monotonicMs - at.monotonicMs);",
    replace: "return Math.min(until.monotonicMs - at.monotonicMs);",
  },
  {
    name: "a lease is over when the wall clock was set back",
    profile: "stopped claims",
    file: "src/timing/timestamp.ts",
    find: "return setBackMs > correctionMs ? 0 : leftMs(until, at);",
    replace: "return setBackMs > Infinity ? 0 : leftMs(until, at);",
  },
  {
    name: "a flow whose lease had ended is taken over, whatever a restored journal says (two places)",
    profile: "restores beside stops",
    patches: [
      {
        file: flows("steps/request-funds"),
        find: "if (await owned.lease.retake()) owned.mustLook = true;",
        replace: "await owned.lease.retake();",
      },
      {
        file: flows("ownership/lease"),
        find: "if (this.#mayHaveBeenTaken) throw new LeaseLost();",
        replace: "",
      },
    ],
  },
  {
    name: "an operator can't release or resend a payment that is there",
    profile: "operators",
    file: flows("resolve-flow"),
    find: 'const look = action === "found" ? undefined',
    replace: 'const look = action !== "found" || withoutProof ? undefined',
  },
  {
    name: "a flow of another gateway is neither run nor recovered (two places)",
    profile: "two gateways",
    patches: [
      {
        file: flows("memory-journal"),
        find: "return scope.service === service && (gateway ?? scope.gateway) === scope.gateway;",
        replace: "return scope.service === service || gateway === scope.gateway;",
      },
      {
        file: flows("state/flow-scope"),
        find: "if (service === own.service && (own.gateway ?? gateway) === gateway) return;",
        replace: "if (service === own.service || (own.gateway ?? gateway) === gateway) return;",
      },
    ],
  },
  {
    name: "without a gatewayId, a flow that was begun with another key is left alone",
    profile: "two gateways",
    file: flows("state/flow-scope"),
    find: "if (scope.gateway !== undefined || state.keyId === undefined) return undefined;",
    replace: "if (scope.gateway !== null) return undefined;",
  },
  ...journalMutations,
];
