/** Why the desk refuses a request, or nothing if it may have come from its own page. */
export function whyRefused(request: Request, origins: readonly string[] | undefined): string | undefined {
  const { headers, method, url } = request;
  const host = headers.get("host") ?? new URL(url).host;
  const own = origins?.filter((origin) => new URL(origin).host === host);
  if (own?.length === 0) return "the desk is not at the host that was asked for";
  if (method === "GET" || method === "HEAD") return undefined;
  const site = headers.get("sec-fetch-site") ?? "same-origin";
  if (site !== "same-origin") return "the form comes from another site's page";
  const origin = headers.get("origin");
  // Every browser names the origin of a form. What stands before the desk may have taken off TLS, and the scheme with it.
  if (origin === null || !URL.canParse(origin)) return "the request does not say which page its form comes from";
  const isOwn = own === undefined ? new URL(origin).host === host : own.includes(origin);
  return isOwn ? undefined : "the form comes from another origin's page";
}
