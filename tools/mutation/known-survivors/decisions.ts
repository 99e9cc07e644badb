import type { KnownSurvivor } from "../known-survivor.js";

const decideInPairs = "src/flows/decide-in-pairs.ts";
const chain = "src/flows/state/decision-chain.ts";
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
  {
    file: chain,
    line: "return Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1));",
    replacement: "one <= other",
    why: "No two fields have the same name.",
  },
  {
    file: chain,
    line: 'return { claims, problem: grounds?.ageSeconds === undefined ? (problem ?? "") : "it came from a cache" };',
    replacement: '"Stryker was here!"',
    why: "For the compiler: a look that is not complete says why.",
  },
  {
    file: chain,
    line: 'const folded = visible.toLowerCase().toUpperCase().toLowerCase().normalize("NFKC");',
    replacement: "visible.toLowerCase().toUpperCase().toUpperCase()",
    why: "Both names are folded alike: whether to capitals or to small letters, those that differ go on to differ.",
  },
];
