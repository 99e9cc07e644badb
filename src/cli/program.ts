/**
 * How a command line begins that works in any folder. Outside of a project that has this package, npx would otherwise fetch another one, of the
 * command's name, which anyone may have published.
 */
export const program = "npx -p cross-border-payments cross-border";
