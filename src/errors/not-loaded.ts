/** What an error says where a file of this package that is loaded late is not there: what the file does, and what did not happen. */
export function notLoaded(what: string, outcome: string): string {
  return `${what} can't be loaded, so ${outcome}; is the package cross-border-payments installed completely, and are all files there that a bundler made of it?`;
}
