import { jsonResponse } from "../responses.js";
import type { Sandbox } from "../sandbox.js";
import { type ConsoleRequest, consolePath, whyRefused } from "./own-page-only.js";

export type { ConsoleRequest };

/** The page that shows what a sandbox does, and its buttons. */
export class SandboxConsole {
  readonly path = consolePath;
  readonly #sandbox: Sandbox;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Whether a request with this target is the console's, not the service's. */
  isAt(target: string): boolean {
    return target.startsWith(consolePath) || target === consolePath.slice(0, -1);
  }

  async respond(request: ConsoleRequest): Promise<Response> {
    const why = whyRefused(request);
    if (why !== undefined) return secured(jsonResponse({ error: "refused", message: why }, 403));
    return secured(this.#respond(request));
  }

  #respond({ method, target }: ConsoleRequest): Response {
    if (target === consolePath.slice(0, -1)) {
      return new Response(null, { status: 308, headers: { location: consolePath } });
    }
    if (target === consolePath && method === "GET") return this.#page();
    return jsonResponse({ error: "unknown_path", message: "the console has nothing at this path" }, 404);
  }

  #page(): Response {
    const { requests, payments } = this.#sandbox;
    const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sandbox console</title>
<h1>Sandbox console</h1>
<p>${requests.length} requests, ${payments.length} payments.</p>
</html>
`;
    return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
  }
}

/** Nothing from elsewhere is loaded, nothing is framed, and no other page reads it. */
function secured(response: Response): Response {
  for (const [name, value] of Object.entries(securityHeaders)) response.headers.set(name, value);
  return response;
}

const securityHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};
