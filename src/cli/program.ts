/**
 * How a command line begins that works in any folder. Outside of a project that has this package, `npx cross-border` would fetch another one, of that
 * name, whoever publishes it.
 */
export const program = "npx -p cross-border-payments cross-border";
