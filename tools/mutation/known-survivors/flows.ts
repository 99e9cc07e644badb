import type { KnownSurvivor } from "../known-survivor.js";

const noIds = "An operation whose path has no ids looks at none.";
const countsBytes = "Only speed: the bytes of a text that has one for each character are counted as well.";
const waitsForNothing = "Where nothing is left, it waits for nothing once more.";
const lookGoal = "src/flows/looking/look-goal.ts";
const setByBegin = "Each reading begins with `begin`, which sets it.";
const looksAgain = "Only speed: how often an operator who waits for a lease asks for it.";
const checksIntent =
  "await checked(context, key, context.client.check(paymentIntents.create, [], { body: request }, call.paymentOptions));";
const endsAnyway = "A function that ends without a return gives undefined too.";

export const flows: readonly KnownSurvivor[] = [
  {
    file: "src/flows/steps/assert-payable.ts",
    line: "await client.check(payments.create, [], input, options);",
    replacement: '["Stryker was here"]',
    why: noIds,
  },
  {
    file: "src/flows/quote-flow.ts",
    line: '{ ...state, phase: "declined" as const, ...(reason === undefined ? undefined : { reason }) },',
    replacement: "false",
    why: "A field that is undefined is neither stored nor part of an outcome.",
  },
  {
    file: "src/flows/quote-flow.ts",
    line: "await checked(context, key, context.client.check(payments.list, [], {}, call.paymentOptions));",
    replacement: '["Stryker was here"]',
    why: noIds,
  },
  {
    file: "src/flows/steps/drive-flow.ts",
    line: 'const claim = "claims" in state ? state.claims?.at(-1) : undefined;',
    replacement: "state.claims.at",
    why: "For the compiler: a state that has claims at all has a list of them.",
  },
  {
    file: "src/flows/steps/emit-step.ts",
    line: 'if (!reporter.wants("flow")) return;',
    replacement: "false",
    why: "Only speed: an event that nobody wants is made all the same, and reaches nobody.",
  },
  {
    file: "src/flows/flow-options.ts",
    line: "const { singleUseIntents = false, listedWithinMs = 1, clockSkewMs = 0, ...others } = value as ServiceFacts;",
    replacement: "true",
    why: "Only its type is looked at here.",
  },
  {
    file: "src/flows/journal-arguments.ts",
    line: "const bytes = ascii.test(value) ? value.length : utf8.encode(value).length;",
    replacement: "false",
    why: countsBytes,
  },
  {
    file: "src/flows/ownership/known-flow.ts",
    line: 'if ("intent" in state && state.intent?.id === intentId) return;',
    replacement: "state.intent.id",
    why: "For the compiler: a state that was read and has the field has an intent.",
  },
  {
    file: "src/flows/looking/match-payment.ts",
    line: 'if (signature !== undefined && signatures.includes(signature)) return "own";',
    original: "signature !== undefined",
    replacement: "true",
    why: "For the compiler: each of the flow's signatures is a text.",
  },
  {
    file: "src/flows/looking/match-payment.ts",
    line: "if (payment.creationRequestBody === claim.body) return false;",
    replacement: "false",
    why: "Only speed: the same texts are the same data.",
  },
  {
    file: "src/flows/looking/match-payment.ts",
    line: 'return typeof id === "string" || typeof id === "number" ? String(id).normalize("NFKC").trim().toLowerCase() : id;',
    replacement: 'String(id).normalize("NFKC").trim().toUpperCase()',
    why: "Which of the cases two ids are brought to makes no difference, but for letters such as ß.",
  },
  {
    file: "src/flows/looking/match-payment.ts",
    line: 'return parseJsonObject(typeof text === "string" ? text : "");',
    replacement: '"Stryker was here!"',
    why: "Neither text is JSON.",
  },
  {
    file: "src/flows/looking/match-payment.ts",
    line: "} catch {",
    replacement: "{}",
    why: endsAnyway,
  },
  {
    file: "src/flows/memory-journal.ts",
    line: "return expiresAtMs !== undefined && expiresAtMs <= this.#nowMs();",
    original: "expiresAtMs !== undefined",
    replacement: "true",
    why: "For the compiler: undefined is not less than any time.",
  },
  {
    file: "src/flows/looking/newest-payment.ts",
    line: "return this.#client.call(payments.list, [], { paging, lenient: true }, call.paymentOptions);",
    replacement: '["Stryker was here"]',
    why: noIds,
  },
  {
    file: "src/flows/ownership/open-work.ts",
    line: "const onAbort = (): void => stop.abort(callersSignal?.reason);",
    replacement: "callersSignal.reason",
    why: "For the compiler: it is called only where there is such a signal.",
  },
  {
    file: "src/flows/steps/prepare-flow.ts",
    line: "return keyId === undefined ? quote : { ...quote, keyId };",
    replacement: "false",
    why: "For the compiler: a client without a key is refused before, since it can't sign the payment.",
  },
  { file: "src/flows/quote-flow.ts", line: checksIntent, replacement: '["Stryker was here"]', why: noIds },
  {
    file: "src/flows/recover-flows.ts",
    line: "const finished: Recovered[] = [];",
    replacement: '["Stryker was here"]',
    why: "What has neither an outcome nor an error is passed over.",
  },
  {
    file: "src/flows/steps/request-funds.ts",
    line: "const signed = await client.sign(payments.create, [], input, call.requestOptions);",
    replacement: '["Stryker was here"]',
    why: noIds,
  },
  {
    file: "src/flows/resolve-flow.ts",
    line: 'const unsigned = [{ body: JSON.stringify(input.body), signature: "" }];',
    replacement: '"Stryker was here!"',
    why: "No payment has either as its signature.",
  },
  {
    file: "src/flows/resolve-flow.ts",
    line: "return [await context.client.sign(payments.create, [], input, call.requestOptions)];",
    replacement: '["Stryker was here"]',
    why: noIds,
  },
  {
    file: "src/flows/resolve-flow.ts",
    line: "if (proposal?.saw?.hash === hash) throw alreadyProposed(key, proposal);",
    replacement: "proposal?.saw.hash",
    why: "For the compiler: every proposal says what its proposer saw.",
  },
  {
    file: "src/flows/resolve-flow.ts",
    line: "const isRequest = sought.claims.some(({ body }) =>",
    replacement:
      "sought.claims.every(({ body }) => repeatsRequest(payments.create.record, parseJsonObject(body), { ...payment }))",
    why: "All claims of a flow have one body.",
  },
  {
    file: "src/flows/resolve-flow.ts",
    line: "if (leftMs > 0) await call.pause(leftMs);",
    replacement: "true",
    why: waitsForNothing,
  },
  {
    file: "src/flows/resolve-flow.ts",
    line: "if (leftMs > 0) await call.pause(leftMs);",
    replacement: "leftMs >= 0",
    why: waitsForNothing,
  },
  {
    file: "src/flows/resolve-flow.ts",
    line: "if (withoutProof || (look?.complete && look.lookalike === undefined)) return look;",
    replacement: "look.complete",
    why: "For the compiler: only what is decided without proof goes on without a look.",
  },
  { file: "src/flows/run-flow.ts", line: checksIntent, replacement: '["Stryker was here"]', why: noIds },
  {
    file: "src/flows/steps/send-claim.ts",
    line: "...(response === undefined ? undefined : { response }),",
    replacement: "false",
    why: "A field that is undefined is neither stored nor part of an outcome.",
  },
  {
    file: "src/flows/steps/send-claim.ts",
    line: "...(refusal === undefined ? undefined : { refusal }),",
    replacement: "false",
    why: "A field that is undefined is neither stored nor told from one that is not there.",
  },
  {
    file: "src/flows/steps/settle-flow.ts",
    line: "await call.pause(Math.min(250, context.leaseMs / 4));",
    replacement: "context.leaseMs * 4",
    why: "Only speed: where a lease is shorter than a second, what another process made of the flow is seen within 250 ms all the same.",
  },
  {
    file: "src/flows/work-flows.ts",
    line: "if (outcome !== undefined) outcomes += 1;",
    replacement: "outcomes -= 1",
    why: "It only matters whether there are any.",
  },
  {
    file: "src/flows/work-flows.ts",
    line: "void ended.then(() => running.delete(ended));",
    replacement: "() => undefined",
    why: "Only memory, a promise for each round: at the end those that have ended are waited for again, which takes no time.",
  },
  {
    file: "src/flows/steps/release-funds.ts",
    line: "if (leftMs > 0) {",
    replacement: "leftMs >= 0",
    why: waitsForNothing,
  },
  ...["Math.max(seen.leaseMs ?? context.leaseMs, context.leaseMs)", "seen.leaseMs && context.leaseMs"].map(
    (replacement) => ({
      file: "src/flows/operate-flow.ts",
      line: "await call.pause(Math.min(seen.leaseMs ?? context.leaseMs, context.leaseMs) / 4);",
      replacement,
      why: looksAgain,
    }),
  ),
  {
    file: "src/flows/looking/known-payments.ts",
    line: 'const createdMs = Date.parse(payment.createdAt ?? "");',
    replacement: '"Stryker was here!"',
    why: "Neither text is a time.",
  },
  {
    file: lookGoal,
    line: '...(freshBy === undefined ? undefined : { freshBy: freshBy.id ?? freshBy.token ?? "" }),',
    replacement: '"Stryker was here!"',
    why: "For the compiler: a known payment has an id or a token.",
  },
  {
    file: lookGoal,
    line: "#toBeListed: readonly KnownPayment[] = [];",
    replacement: '["Stryker was here"]',
    why: setByBegin,
  },
  { file: lookGoal, line: "#isTimeless = false;", replacement: "true", why: setByBegin },
  { file: lookGoal, line: "#isZoneless = false;", replacement: "true", why: setByBegin },
  {
    file: lookGoal,
    line: 'decides: "decides" | "reports" = "reports",',
    replacement: '""',
    why: "Only the other one is asked for.",
  },
  {
    file: lookGoal,
    line: "if (this.#ending?.problem !== undefined) return this.#ending.problem;",
    replacement: "this.#ending.problem",
    why: "For the compiler: a look is asked what is wrong once it has ended.",
  },
  {
    file: "src/flows/state/flow-history.ts",
    line: `const phases = from === before?.to ? to : \`\${from ?? ""}>\${to}\`;`,
    replacement: '"Stryker was here!"',
    why: "Each step but the first begins somewhere.",
  },
  {
    file: "src/flows/state/flow-history.ts",
    line: 'owner: owners[by] ?? "",',
    replacement: '"Stryker was here!"',
    why: "For the compiler: each step has the index of an owner.",
  },
  {
    file: "src/flows/flow-details.ts",
    line: "...(open && { proposal: { ...open, hash: decisionHash(open), isOutdated: open.saw?.hash !== seen } }),",
    replacement: "open.saw.hash",
    why: "For the compiler: a proposal says what its proposer saw.",
  },
  {
    file: "src/flows/gauges/shared-reading.ts",
    line: "if (endedAtMs !== undefined && clock.monotonicMs() - endedAtMs >= this.#keptMs) this.#begun = undefined;",
    original: "endedAtMs !== undefined",
    replacement: "true",
    why: "For the compiler: what is undefined is not above any number.",
  },
  {
    file: "src/flows/ownership/lease-observer.ts",
    line: "if (!isOverlong || leaseUntilMs === undefined || leaseMs === undefined) {",
    replacement: "false",
    why: "For the compiler: a lease that is too long has an end and a length.",
  },
  {
    file: "src/flows/state/sha256.ts",
    line: "for (let t = 0; t < 64; t += 1) {",
    replacement: "t <= 64",
    why: "A typed array keeps nothing beyond its end.",
  },
  {
    file: "src/flows/move-flows.ts",
    line: "else if (moved !== undefined) this.#left.set(key, moved);",
    replacement: "true",
    why: "What is gone is told by no report: it is only not kept.",
  },
];
