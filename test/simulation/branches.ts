/** The global name under which a program whose branches are marked notes those that it takes. */
export const branchesName = "__branches";
