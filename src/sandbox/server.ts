import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError } from "../core/errors.js";
import {
  assertOptions,
  type CheckTable,
  isBoolean,
  isPlainObject,
  isPositiveInteger,
  isText,
  isWholeFrom,
} from "../core/parse.js";
import type { SigningKey } from "../signing/keys.js";
import { type ConsoleRequest, SandboxConsole } from "./console/console.js";
import { allowOrigin, isPreflight, preflightResponse } from "./cross-origin.js";
import { jsonResponse } from "./responses.js";
import { createSandbox, type Sandbox, type SandboxClientOptions } from "./sandbox.js";
import { type SandboxOptions, sandboxOptions } from "./sandbox-options.js";

export interface SandboxServerOptions extends SandboxOptions {
  /** The port. 0 picks a free one. Default: 0. */
  readonly port?: number;
  /** The address to listen on. Default: `127.0.0.1`. */
  readonly host?: string;
  /** Longer bodies get 413. Default: 1,048,576. */
  readonly maxBodyBytes?: number;
  /**
   * Serves the [console](#console) at `consoleUrl`. It needs no login, so the sandbox must listen on loopback.
   * Default: `false`.
   */
  readonly console?: boolean | SandboxConsoleOptions;
}

export interface SandboxConsoleOptions {
  /**
   * Signing keys of registered gateways: the console signs payments of a gateway with the one whose public half it has registered.
   * The sandbox itself knows public keys only. For other gateways, a button of the console makes a key and registers it. Default: none.
   */
  readonly signingKeys?: readonly SigningKey[];
}

/** A sandbox that listens. */
export interface SandboxServer extends AsyncDisposable {
  readonly sandbox: Sandbox;
  /** Scheme, host and port. */
  readonly url: string;
  /** The client's `baseUrl`, base path included. */
  readonly baseUrl: string;
  /** The client's `auth.authUrl`. */
  readonly authUrl: string;
  /** What a client needs: `new CrossBorderClient({ ...server.clientOptions, signingKey })`. */
  readonly clientOptions: SandboxClientOptions;
  /** Where the console is; absent unless `console` is on. */
  readonly consoleUrl?: string;
  /** Stops listening and ends every connection, whatever it is doing. */
  close(): Promise<void>;
}

/**
 * Starts a sandbox over HTTP/1.1.
 *
 * @throws {ConfigError} when an option has a value that no sandbox can have, or the address can't be listened on.
 */
export async function startSandbox(options: SandboxServerOptions = {}): Promise<SandboxServer> {
  const refuse = (message: string) => new ConfigError(message);
  assertOptions(serverOptions, options, "the sandbox's options", refuse);
  const { port = 0, host = "127.0.0.1", maxBodyBytes = 1024 * 1024, console: wanted = false, ...others } = options;
  const sandbox = createSandbox(others);
  const sandboxConsole = wanted === false ? undefined : openConsole(sandbox, host, wanted === true ? {} : wanted);
  const { idleSeconds, compresses = false } = others.quirks ?? {};
  const served = { sandbox, sandboxConsole, maxBodyBytes, compresses };
  const server = createServer((request, response) => void exchange(served, request, response));
  if (idleSeconds !== undefined) server.keepAliveTimeout = 1000 * idleSeconds;
  server.on("connect", (_, socket) => socket.end(tunnelRefusal));
  const url = await listen(server, port, host);
  const clientOptions = sandbox.clientOptions({ baseUrl: url, authUrl: url });
  const close = closing(server);
  return {
    sandbox,
    url,
    baseUrl: clientOptions.baseUrl,
    authUrl: clientOptions.auth.authUrl,
    clientOptions,
    ...(sandboxConsole && { consoleUrl: url + sandboxConsole.path }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const serverOptions: CheckTable<SandboxServerOptions> = {
  ...sandboxOptions,
  port: { accepts: isWholeFrom(0, 65_535), wanted: "a port, or 0 for any that is free" },
  host: { accepts: isText, wanted: "an address" },
  maxBodyBytes: { accepts: isPositiveInteger, wanted: "a whole number above 0" },
  console: {
    accepts: (value) => isBoolean(value) || isPlainObject(value),
    wanted: "true, false or an object of options",
  },
};
const consoleOptions: CheckTable<SandboxConsoleOptions> = {
  signingKeys: { accepts: Array.isArray, wanted: "an array of signing keys" },
};

interface Served {
  readonly sandbox: Sandbox;
  readonly sandboxConsole: SandboxConsole | undefined;
  readonly maxBodyBytes: number;
  readonly compresses: boolean;
}

function openConsole(sandbox: Sandbox, host: string, options: SandboxConsoleOptions): SandboxConsole {
  assertOptions(consoleOptions, options, "console", (message) => new ConfigError(`console: ${message}`));
  const { signingKeys = [] } = options;
  if (!/^(?:localhost|::1|127(?:\.\d{1,3}){3})$/.test(host)) {
    throw new ConfigError(
      `the console asks for no login: with it, host must be "127.0.0.1", "::1" or "localhost"; got ${JSON.stringify(host)}`,
    );
  }
  const hidden = [sandbox.basePath, sandbox.authPath].find((path) => /^\/console(?:\/|$)/.test(path));
  if (hidden !== undefined) {
    throw new ConfigError(
      `with the console, basePath and authPath can't be under "/console"; got ${JSON.stringify(hidden)}`,
    );
  }
  return new SandboxConsole(sandbox, signingKeys);
}

function listen(server: Server, port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      reject(new ConfigError(`the sandbox can't listen on port ${port} of ${host}: ${cause.code}`, { cause }));
    });
    server.listen(port, host, () => {
      // Listening on a port, not on a pipe: the address is an object.
      const address = server.address() as AddressInfo;
      resolve(`http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`);
    });
  });
}

function closing(server: Server): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closed;
  };
}

/** One request and its response. Never rejects: whatever goes wrong ends this connection only. */
async function exchange(served: Served, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { sandbox, sandboxConsole, maxBodyBytes, compresses } = served;
  try {
    const body = await readBody(incoming, maxBodyBytes);
    const [path = ""] = (incoming.url ?? "").split("?");
    if (body !== undefined && sandboxConsole?.isAt(path)) {
      await send(await sandboxConsole.respond(consoleRequest(incoming, path, body)), outgoing);
      return;
    }
    const response = body === undefined ? tooLarge() : await responseTo(sandbox, incoming, body);
    incoming.resume();
    const accepted = String(incoming.headers["accept-encoding"] ?? "");
    await send(
      compresses && /\bgzip\b/.test(accepted) ? zipped(response) : response,
      outgoing,
      incoming.headers.origin,
    );
  } catch {
    // A hook that throws, a malformed path, a caller that disconnected.
    if (!outgoing.headersSent && !outgoing.destroyed) await send(failure(), outgoing);
    else outgoing.destroy();
  }
}

function responseTo(sandbox: Sandbox, incoming: IncomingMessage, body: Uint8Array): Promise<Response> {
  const { method = "GET", url = "/", socket } = incoming;
  const target = url.replace(/^https?:\/\/[^/?]*/i, "") || "/";
  const isRefused = refusedMethods.has(method);
  const bodiless = method === "GET" || method === "HEAD" || isRefused;
  const headers = headersOf(incoming);
  if (isPreflight(method, headers)) return Promise.resolve(preflightResponse(headers));
  // `OPTIONS *` has no path.
  const request = new Request(`http://sandbox.invalid${target.startsWith("/") ? target : "/"}`, {
    method: isRefused ? "GET" : method,
    headers,
    ...(bodiless ? {} : { body }),
  });
  const origin = `http://${headers.get("host") ?? "sandbox.invalid"}`;
  return sandbox.handle(request, { target, method, origin, address: socket.remoteAddress ?? "" });
}

function consoleRequest(incoming: IncomingMessage, path: string, body: Uint8Array): ConsoleRequest {
  const { method = "GET", socket } = incoming;
  const { localAddress = "", localPort = 0 } = socket;
  return { method, path, headers: headersOf(incoming), body, localAddress, localPort };
}

/** Methods that `Request` can't carry. They are no operation's, and get the 405 of any other. */
const refusedMethods: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  }
  return headers;
}

async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function send(response: Response, outgoing: ServerResponse, origin?: string): Promise<void> {
  if (response.type === "error") {
    outgoing.destroy();
    return;
  }
  const body = Buffer.from(await response.arrayBuffer());
  const headers = { ...Object.fromEntries(response.headers), ...allowOrigin(origin) };
  outgoing.writeHead(response.status, { ...headers, "content-length": body.length });
  outgoing.end(body);
}

function zipped(response: Response): Response {
  if (response.body === null) return response;
  const { status } = response;
  const headers = { ...Object.fromEntries(response.headers), "content-encoding": "gzip", vary: "accept-encoding" };
  return new Response(response.body.pipeThrough(new CompressionStream("gzip")), { status, headers });
}

/** The target of a `CONNECT` is no path: it stands for the whole server. */
const tunnelRefusal =
  "HTTP/1.1 405 Method Not Allowed\r\nallow: GET, POST, PUT\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

function tooLarge(): Response {
  return jsonResponse({ error: "body_too_large", message: "the body is too large" }, 413, { connection: "close" });
}

function failure(): Response {
  return jsonResponse({ error: "sandbox_failed", message: "the sandbox could not respond" }, 500, {
    connection: "close",
  });
}
