import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { ConfigError } from "../core/errors.js";
import {
  type CheckTable,
  isBoolean,
  isPlainObject,
  isPositiveInteger,
  isText,
  isWholeFrom,
  parseOptions,
} from "../core/parse.js";
import type { SigningKey } from "../signing/keys.js";
import { consoleApp } from "./console/console.js";
import { type SandboxOptions, sandboxOptions } from "./options.js";
import { refusalResponse, SandboxRefusal } from "./refusal.js";
import { createSandbox, type Sandbox, type SandboxClientOptions } from "./sandbox.js";

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
   * Signing keys of registered gateways, with which the console signs their payments. Default: none.
   */
  readonly signingKeys?: readonly SigningKey[];
}

/** A sandbox that listens. */
export interface SandboxServer extends AsyncDisposable {
  readonly sandbox: Sandbox;
  /** Scheme, host, and port. */
  readonly url: string;
  /** The client's `baseUrl`, base path included. */
  readonly baseUrl: string;
  /** The client's `auth.authUrl`. */
  readonly authUrl: string;
  /** Options of a client: `new CrossBorderClient({ ...server.clientOptions, signingKey })`. */
  readonly clientOptions: SandboxClientOptions;
  /** The address of the console, if `console` is on. */
  readonly consoleUrl?: string;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/**
 * Starts a sandbox over HTTP/1.1.
 *
 * @throws {ConfigError} if an option is wrong, or the address can't be listened on.
 */
export async function startSandbox(options: SandboxServerOptions = {}): Promise<SandboxServer> {
  const refuse = (message: string) => new ConfigError(message);
  parseOptions(serverOptions, options, "the sandbox's options", refuse);
  const { port = 0, host = "127.0.0.1", maxBodyBytes = 1024 * 1024, console: given = false, ...others } = options;
  const sandbox = createSandbox(others);
  const pages = given === false ? undefined : openConsole(sandbox, host, given === true ? {} : given);
  const app = appOf(sandbox, maxBodyBytes, pages);
  // The request's own path is what is signed. `Request` would rewrite some paths.
  const listener = getRequestListener(
    // hono's body limit needs a request of the platform's own class.
    ({ url, method, headers, body }, env) =>
      app.fetch(new Request(url, { method, headers, ...(body !== null && { body, duplex: "half" as const }) }), env),
    { hostname: "sandbox.invalid", overrideGlobalObjects: false },
  );
  const server = createServer(listener);
  const url = await listen(server, port, host);
  const clientOptions = sandbox.clientOptions({ baseUrl: url, authUrl: url });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closed;
  };
  return {
    sandbox,
    url,
    baseUrl: clientOptions.baseUrl,
    authUrl: clientOptions.auth.authUrl,
    clientOptions,
    ...(pages && { consoleUrl: `${url}/console/` }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const serverOptions: CheckTable<SandboxServerOptions> = {
  ...sandboxOptions,
  port: { accepts: isWholeFrom(0, 65_535), expected: "a port, or 0 for any that is free" },
  host: { accepts: isText, expected: "an address" },
  maxBodyBytes: { accepts: isPositiveInteger, expected: "a whole number above 0" },
  console: {
    accepts: (value) => isBoolean(value) || isPlainObject(value),
    expected: "true, false or an object of options",
  },
};

type Env = { Bindings: HttpBindings };

function openConsole(sandbox: Sandbox, host: string, options: SandboxConsoleOptions): Hono<Env> {
  if (!/^(?:localhost|::1|127(?:\.\d{1,3}){3})$/.test(host)) {
    const found = JSON.stringify(host);
    throw new ConfigError(
      `the console asks for no login, so host must be "127.0.0.1", "::1" or "localhost"; got ${found}`,
    );
  }
  return consoleApp(sandbox, options.signingKeys ?? []);
}

/** Pages of any origin may call the sandbox: a page under test has another port. */
function appOf(sandbox: Sandbox, maxBodyBytes: number, pages: Hono<Env> | undefined): Hono<Env> {
  const app = new Hono<Env>({ strict: false });
  app.use(bodyLimit({ maxSize: maxBodyBytes, onError: () => refusalResponse(tooLarge) }));
  app.onError(() => refusalResponse(new SandboxRefusal("sandbox_failed", "the sandbox could not respond", 500)));
  if (pages !== undefined) app.route("/console", pages);
  app.use(cors({ origin: (origin) => origin, exposeHeaders: ["*"], allowMethods: ["GET", "POST", "PUT"] }));
  app.all("*", (c) => respond(sandbox, c));
  return app;
}

async function respond(sandbox: Sandbox, c: Context<Env>): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const { url: target = "/", socket } = incoming;
  const { origin } = new URL(c.req.url);
  const response = await sandbox.handle(c.req.raw, { target, origin, address: socket.remoteAddress ?? "" });
  if (response.type !== "error") return response;
  outgoing.destroy();
  return RESPONSE_ALREADY_SENT;
}

const tooLarge = new SandboxRefusal("body_too_large", "the body is too large", 413);

async function listen(server: Server, port: number, host: string): Promise<string> {
  try {
    await once(server.listen(port, host), "listening");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigError(`the sandbox can't listen on port ${port} of ${host}: ${code}`, { cause });
  }
  // It listens on a port, so the address is an object.
  const { family, address, port: found } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${found}`;
}
