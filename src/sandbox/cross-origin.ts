/**
 * Pages of any origin may call the sandbox, since that of a page under test has another port. The service and the identity provider
 * know the origins of the pages that they allow.
 */
export function allowOrigin(origin: string | undefined): Readonly<Record<string, string>> {
  if (origin === undefined) return {};
  return { "access-control-allow-origin": origin, "access-control-expose-headers": "*", vary: "origin" };
}

/** The question that a browser asks before a page's request to another origin. */
export function isPreflight(method: string, headers: Headers): boolean {
  return method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");
}

export function preflightResponse(asked: Headers): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "GET, POST, PUT",
      "access-control-allow-headers": asked.get("access-control-request-headers") ?? "",
    },
  });
}
