/** Where a page of the documentation is read, or a section of it. `package.json` names the same repository. */
export function docsPage(page: string): string {
  return `https://github.com/cross-border-payments/cross-border-payments/blob/main/docs/${page}`;
}

/**
 * The section about a code. One is for all statuses, so that the digits are left out; and nothing else that a subclass of the caller's
 * may take for a code gets into an address.
 */
export function docUrlOf(code: string): string {
  return docsPage(`error-codes.md#${String(code).replace(/[^a-z_].*/s, "")}`);
}
