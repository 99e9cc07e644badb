/** The global name under which a program whose branches are marked notes those that it takes. */
export const branchesName = "__branches";

/** Beside such a program: which branches belong to which rule. */
export const rulesFile = "rules.json";

/** The mark of a rule of the flow: its own branch was taken. */
export function ruleMark(rule: string): string {
  return `rule: ${rule}`;
}
