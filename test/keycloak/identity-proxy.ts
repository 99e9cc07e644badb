import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../support/free-port.mjs";
import { keycloakOrigin } from "./keycloak.js";

/** One request to the identity server, as it arrived. */
export interface SeenTokenRequest {
  readonly atMs: number;
  /** The last part of the path: `token` or `logout`. */
  readonly endpoint: string;
  readonly form: Readonly<Record<string, string>>;
  readonly authorization: string | undefined;
  /** Of the response; absent where there was none. */
  status?: number;
  /** Of the response. */
  body?: string;
}

/** What the proxy does: pass on, fail by itself, lose the response, or pass on when it no longer holds. */
export type ProxyMode = "pass" | "fail" | "lose" | "hold";

/** A proxy before Keycloak that sees what the client really sends, and fails on demand. */
export interface IdentityProxy extends AsyncDisposable {
  readonly origin: string;
  readonly seen: SeenTokenRequest[];
  /** Token requests, without logouts. */
  readonly tokenRequests: readonly SeenTokenRequest[];
  readonly mostInFlight: number;
  mode: ProxyMode;
  /** Refuses connections until `listen`. */
  refuse(): Promise<void>;
  listen(): Promise<void>;
}

export async function startProxy(): Promise<IdentityProxy> {
  const seen: SeenTokenRequest[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const port = await freePort();
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await textOf(incoming);
    const entry: SeenTokenRequest = {
      atMs: performance.now(),
      endpoint: (incoming.url ?? "").split("/").at(-1) ?? "",
      form: Object.fromEntries(new URLSearchParams(body)),
      authorization: incoming.headers.authorization,
    };
    seen.push(entry);
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    response.on("close", () => {
      inFlight -= 1;
    });
    const { mode } = proxy;
    if (mode === "fail") {
      entry.status = 503;
      response.writeHead(503, { "content-type": "text/html" }).end("<html>Service Unavailable</html>");
      return;
    }
    while (proxy.mode === "hold") await sleep(50);
    const passed = await passOn(incoming, body);
    entry.status = passed.status;
    entry.body = passed.body;
    if (mode === "lose") incoming.socket.resetAndDestroy();
    else response.writeHead(passed.status, { "content-type": passed.contentType }).end(passed.body);
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  const listen = (): Promise<void> =>
    new Promise((resolve) => {
      server.listen(port, "127.0.0.1", resolve);
    });
  const refuse = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await listen();
  const proxy = {
    seen,
    mode: "pass" as ProxyMode,
    origin: `http://127.0.0.1:${port}`,
    get tokenRequests() {
      return seen.filter(({ endpoint }) => endpoint === "token");
    },
    get mostInFlight() {
      return mostInFlight;
    },
    refuse,
    listen,
    [Symbol.asyncDispose]: refuse,
  };
  return proxy;
}

async function textOf(incoming: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function passOn(
  { method, url, headers }: IncomingMessage,
  body: string,
): Promise<{ readonly status: number; readonly contentType: string; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const { host } = new URL(keycloakOrigin);
    // Keycloak derives the issuer from the host.
    const outgoing = request(keycloakOrigin + url, { method, headers: { ...headers, host }, agent: false });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const { statusCode: status = 0, headers: received } = response;
      textOf(response).then(
        (text) => resolve({ status, contentType: received["content-type"] ?? "", body: text }),
        reject,
      );
    });
    outgoing.end(body);
  });
}
