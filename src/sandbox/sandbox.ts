import type { OperationName } from "../resources/catalogue.js";
import type { Payment, PaymentStatus } from "../resources/payments.js";
import { AccountDirectory } from "./account-directory.js";
import { withoutPath } from "./address.js";
import { remember } from "./drop-expired.js";
import { createHandlers, type Handlers } from "./handlers.js";
import { type IdentityEndpoint, IdentityProvider } from "./identity-provider.js";
import { type StoredRecords, storedRecords } from "./ledger.js";
import { respondToOperation } from "./operation.js";
import { QuirkyResponses } from "./quirky-responses.js";
import { setReceiverStatus } from "./receiver-status.js";
import { refusalResponse, SandboxRefusal } from "./responses.js";
import { type Route, routeOf } from "./routes.js";
import {
  type SandboxCredentials,
  type SandboxOptions,
  type SandboxRequest,
  type SandboxSettings,
  toSettings,
} from "./sandbox-options.js";
import type { SandboxTokens, TokenRequest } from "./sandbox-tokens.js";
import { createService, type Service } from "./service.js";
import { signatureHeader } from "./signature-check.js";

/** One request that reached the sandbox. Its query may hold account numbers; it holds no secret, and is left out of logins. */
export interface LoggedRequest {
  readonly operation: OperationName | "token" | undefined;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Carried a signature, right or wrong. */
  readonly signed: boolean;
  readonly atMs: number;
  /** Of the response; 0 for a connection that was broken off, nothing while there is no response. */
  readonly status: number | undefined;
}

/** What a server knows about a request and a web `Request` can't carry. */
export interface SandboxWire {
  /** The method, where `Request` refuses it: `CONNECT`, `TRACE` or `TRACK`. */
  readonly method?: string;
  /** Path and query exactly as they were on the wire; URL objects rewrite some paths. */
  readonly target?: string;
  /** Where the request came from: the token operation throttles by it. */
  readonly address?: string;
  /** Scheme and host as which the sandbox was addressed: the issuer of ID tokens begins with it. Default: those of the request. */
  readonly origin?: string;
}

/** Options of a client, as far as the sandbox knows them. */
export interface SandboxClientOptions {
  readonly baseUrl: string;
  readonly auth: SandboxCredentials & { readonly authUrl: string };
}

/** Stands around the work on every request. What it returns is the response. */
export type SandboxWatcher = (arrived: Arrived, respond: () => Promise<Response>) => Promise<Response>;

export interface SandboxInterior {
  readonly service: Service;
  readonly tokens: SandboxTokens;
}

/**
 * The described service in memory. Two sandboxes share nothing.
 *
 * What it had to invent, since the description does not show it, is listed in `docs/sandbox.md`.
 */
export class Sandbox {
  /** The accounts that name verification knows. */
  readonly accounts = new AccountDirectory();
  /** Base path of the operations; empty when there is none. */
  readonly basePath: string;
  /** Base path of the identity provider; empty when there is none. */
  readonly authPath: string;
  readonly #options: SandboxOptions;
  readonly #settings: SandboxSettings;
  readonly #service: Service;
  readonly #handlers: Handlers;
  readonly #identity: IdentityProvider;
  readonly #quirky: QuirkyResponses;
  readonly #requests: Writable<LoggedRequest>[] = [];
  readonly #tokenRequests: TokenRequest[] = [];
  #watcher: SandboxWatcher = (_, respond) => respond();

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#settings = toSettings(options);
    this.basePath = this.#settings.basePath;
    this.authPath = this.#settings.authPath;
    this.#service = createService(this.#settings, this.accounts);
    this.#handlers = createHandlers(this.#service);
    this.#identity = new IdentityProvider(this.#settings);
    this.#quirky = new QuirkyResponses(this.#settings.quirks, this.#settings.now);
  }

  /** What a client has to log in with. */
  get credentials(): SandboxCredentials {
    return this.#settings.credentials;
  }

  /** Path of the token operation. */
  get tokenPath(): string {
    return this.#identity.pathOf("token");
  }

  /** Path where a session is ended. */
  get logoutPath(): string {
    return this.#identity.pathOf("logout");
  }

  /** Path of the login page. */
  get authorizationPath(): string {
    return this.#identity.pathOf("auth");
  }

  /** Path of the key that ID tokens are signed with. */
  get certsPath(): string {
    return this.#identity.pathOf("certs");
  }

  /** The newest 10,000 requests, in the order of arrival. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests.map((request) => ({ ...request }));
  }

  /** The newest 10,000 requests for a token, in the order of arrival. */
  get tokenRequests(): readonly TokenRequest[] {
    return [...this.#tokenRequests];
  }

  /** Copies of everything that is stored. */
  get ledger(): StoredRecords {
    return storedRecords(this.#service.ledger);
  }

  /** Copies of the stored payments, oldest first. */
  get payments(): readonly Payment[] {
    return this.#service.ledger.payments.records();
  }

  /**
   * Moves a payment's `receiverGatewayStatus`, as the receiving gateway would, and sets `updatedAt`. The first `processed` also gives it a
   * `receiverGatewayTransactionId`. Any status can follow any other.
   *
   * @returns a copy of the payment as it is now.
   * @throws {InvalidArgumentError} when there is no such payment, or the status is none of the four that are described.
   */
  setReceiverStatus(paymentId: string, status: PaymentStatus): Payment {
    return setReceiverStatus(this.#service, paymentId, status);
  }

  /** Makes every access token invalid from now on; with `all`, every refresh token too, as where an administrator ends all sessions. */
  revokeTokens(which: "access" | "all" = "access"): void {
    this.#identity.tokens.revoke(which);
  }

  /**
   * Lets a watcher see every request before the hooks do, and what is inside. The last one stands around those before it.
   *
   * @internal
   */
  watch(watcher: SandboxWatcher): SandboxInterior {
    const inner = this.#watcher;
    this.#watcher = (arrived, respond) => watcher(arrived, () => inner(arrived, respond));
    return { service: this.#service, tokens: this.#identity.tokens };
  }

  /**
   * Options for a client of this sandbox, where the two addresses lead to it. `basePath` and `authPath` may stand at their ends, and are
   * added where they do not.
   *
   * @throws {ConfigError} when an address has another path.
   */
  clientOptions(addresses: { readonly baseUrl: string; readonly authUrl: string }): SandboxClientOptions {
    return {
      baseUrl: withoutPath("baseUrl", addresses.baseUrl, "basePath", this.basePath) + this.basePath,
      auth: {
        ...this.credentials,
        authUrl: withoutPath("authUrl", addresses.authUrl, "authPath", this.authPath) + this.authPath,
      },
    };
  }

  /**
   * The service as a `fetch` of any host: only the path decides. Bound, so that it can be passed on as it is.
   *
   * @throws {TypeError} where a hook responds with `Response.error()`, as a broken connection would.
   */
  readonly fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const response = await untilAborted(request.signal, () => this.handle(request));
    if (response.type === "error") throw new TypeError("fetch failed");
    return response;
  };

  /** The service as a function of requests; `Response.error()` stands for a connection that is broken off. */
  async handle(request: Request, wire: SandboxWire = {}): Promise<Response> {
    const arrived = await arrive(request, wire, (path, method) => this.#routeOf(path, method));
    const logged = this.#log(arrived);
    const response = await this.#watcher(arrived, async () => {
      return (await this.#options.onRequest?.(arrived.seen)) ?? (await this.#serve(arrived));
    });
    logged.status = response.status;
    return response;
  }

  async #serve(arrived: Arrived): Promise<Response> {
    const response = await this.#respond(arrived);
    return (await this.#options.onResponse?.(arrived.seen, response)) ?? response;
  }

  async #respond(arrived: Arrived): Promise<Response> {
    const { seen, route, address, origin } = arrived;
    if (typeof route === "string") return this.#identity.respond(route, { ...seen, address, origin });
    const machine = this.#quirky.nextMachine();
    return this.#quirky.leave(await this.#respondToRoute({ ...arrived, route, machine }), machine);
  }

  async #respondToRoute({ seen, bytes, route, machine }: RoutedArrival): Promise<Response> {
    if (route instanceof SandboxRefusal) return refusalResponse(route, undefined);
    if (!this.#identity.tokens.accepts(seen.headers.get("authorization"))) {
      return refusalResponse(unauthorized, route.operation.verb);
    }
    const respond = () => respondToOperation(this.#service, this.#handlers, { seen, bytes, route, machine });
    if (route.operation.verb !== "list") return respond();
    return this.#quirky.cached(`${seen.path}?${seen.query}`, seen.headers, respond);
  }

  #routeOf(path: string, method: string): Destination {
    const endpoint = this.#identity.endpointOf(path);
    if (endpoint !== undefined) return endpoint;
    try {
      return routeOf(method, path, this.basePath);
    } catch (error) {
      if (error instanceof SandboxRefusal) return error;
      throw error;
    }
  }

  #log({ seen, route }: Arrived): Writable<LoggedRequest> {
    const { operation, method, path, signed, body } = seen;
    // A logout names the session by its ID token.
    const query = typeof route === "string" ? "" : seen.query;
    const atMs = this.#settings.now();
    const logged = { operation, method, path, query, signed, atMs, status: undefined };
    remember(this.#requests, logged);
    if (operation === "token") {
      const form = new URLSearchParams(body);
      remember(this.#tokenRequests, { grantType: form.get("grant_type") ?? "", atMs, fields: [...form.keys()] });
    }
    return logged;
  }
}

/**
 * Makes a sandbox.
 *
 * @throws {ConfigError} when an option has a value that no sandbox can have.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new Sandbox(options);
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Where a request leads: an operation, a page of the identity provider, or why it leads nowhere. */
type Destination = Route | IdentityEndpoint | SandboxRefusal;

/** A request as it is known before anything is done with it. */
export interface Arrived {
  readonly seen: SandboxRequest;
  readonly bytes: Uint8Array;
  readonly route: Destination;
  readonly address: string;
  readonly origin: string;
}

type RoutedArrival = Arrived & { readonly route: Route | SandboxRefusal; readonly machine: number };

const unauthorized = new SandboxRefusal("unauthorized", "the access token is missing or invalid", 401, {
  "www-authenticate": "Bearer",
});

async function arrive(
  request: Request,
  { target, address = "", method = request.method, origin = new URL(request.url).origin }: SandboxWire,
  routeTo: (path: string, method: string) => Destination,
): Promise<Arrived> {
  const { headers } = request;
  const bytes = new Uint8Array(await request.arrayBuffer());
  const [path, query] = splitTarget(target ?? targetOf(request.url));
  const route = routeTo(path, method);
  const seen = {
    operation: operationOf(route),
    method,
    path,
    query,
    headers,
    body: new TextDecoder().decode(bytes),
    signed: headers.has(signatureHeader),
  };
  return { seen, bytes, route, address, origin };
}

function operationOf(route: Destination): OperationName | "token" | undefined {
  if (typeof route === "string") return route === "token" ? "token" : undefined;
  // The rows' `operation` is the key under which the table holds them.
  return route instanceof SandboxRefusal ? undefined : (route.operation.name as OperationName);
}

function targetOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function splitTarget(target: string): readonly [path: string, query: string] {
  const mark = target.indexOf("?");
  return mark < 0 ? [target, ""] : [target.slice(0, mark), target.slice(mark + 1)];
}

async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}
