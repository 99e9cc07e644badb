import type { KnownSurvivor } from "../known-survivor.js";

const decideInPairs = "src/flows/decide-in-pairs.ts";
const sawAll = "For the compiler: what was proposed has what its proposer saw.";

export const decisions: readonly KnownSurvivor[] = [
  {
    file: "src/flows/check-resolution.ts",
    line: "} catch {",
    replacement: "{}",
    why: "A function that ends gives undefined, which accepts nothing.",
  },
  {
    file: decideInPairs,
    line: "if (open?.saw?.hash === hash) throw alreadyProposed(key, open);",
    replacement: "open?.saw.hash",
    why: sawAll,
  },
  { file: decideInPairs, line: "if (seenHash(state) !== open.saw?.hash) {", replacement: "open.saw.hash", why: sawAll },
  {
    file: decideInPairs,
    line: "assertOwnPayment(payment, { ...state, claims: await claimsToLookFor(context, call, state, true) });",
    replacement: "false",
    why: "A payment is known by its body too: to sign what nobody sends only takes time.",
  },
];
