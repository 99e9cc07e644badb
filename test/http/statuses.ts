/** Statuses that prove nothing, the service itself included: something may have been done before, or elsewhere. By what RFC 9110, RFC 8470 and proxies say. */
export const provingNothing = [409, 421, 425, 499] as const;

/** Those that prove nothing either, and after which the same read may go well another time. */
export const passingRefusals = [408] as const;
