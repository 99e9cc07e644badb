/** Where the documentation is read. `package.json` names the same repository. */
const docs = "https://github.com/cross-border-payments/cross-border-payments/blob/main/docs";

/** Where a page of the documentation is read, or a section of it. */
export const docsPage = (page: string): string => `${docs}/${page}`;

/**
 * The section about a code. One is for all statuses, so that the digits are left out; and nothing else that a subclass of the caller's
 * may take for a code gets into an address.
 */
export const docUrlOf = (code: string): string => docsPage(`error-codes.md#${/^[a-z_]*/.exec(code)?.[0] ?? ""}`);
