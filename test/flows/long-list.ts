/** A list of payments a second apart, in pages of 20 at most, with tokens that grow: a look may end at its mark. */
export function longList(count: number, oldest: object, { query }: { readonly query: string }): Response {
  const asked = new URLSearchParams(query);
  const after = Number(asked.get("_after") ?? 0);
  const before = Number(asked.get("_before") ?? count + 1);
  const size = Math.min(20, Number(asked.get("_size")));
  const tokens = Array.from({ length: count }, (_, index) => index + 1).filter((at) => at > after && at < before);
  if (asked.get("_sort")?.endsWith(".desc")) tokens.reverse();
  return Response.json(tokens.slice(0, size).map((token) => ({ ...recordOf(token), ...(token === 1 ? oldest : {}) })));
}

function recordOf(token: number): object {
  const createdAt = new Date(Date.UTC(2026, 0, 1) + 1000 * token).toISOString();
  return {
    id: `p-${token}`,
    pagingToken: String(token),
    createdAt,
    updatedAt: createdAt,
    senderGatewayTransactionId: `other-${token}`,
  };
}
