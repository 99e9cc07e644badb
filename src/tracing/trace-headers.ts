/**
 * What a propagator has put among the headers of a request, as far as it only names a trace: what HTTP does not allow is left out, and so
 * are fields that would change the request, and more text than servers take.
 */
export function traceHeaders(injected: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  let left = mostCharacters;
  for (const [name, value] of Object.entries(injected)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || changesRequest.test(name)) continue;
    if (typeof value !== "string" || !/^[\t\x20-\x7e]*$/.test(value)) continue;
    left -= name.length + value.length;
    if (left < 0) break;
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** W3C Baggage allows as much, and servers mostly take twice that for all headers together. */
const mostCharacters = 8192;

/** Fields by which HTTP, or something before the service, would do something else. */
const changesRequest = new RegExp(
  "^(?:accept|authorization|cookie|connection|content|expect|forwarded|from|host|http2|if|keep-alive|max-forwards|origin|pragma|cache|" +
    "prefer|proxy|range|referer|sec|set-cookie|te|trailer|transfer-encoding|upgrade|user-agent|via|" +
    "x-forwarded|x-http-method|x-method|x-original|x-real-ip|x-rewrite|x-service)(?:-|$)",
  "i",
);
