import type { FieldTable } from "../api/fields.js";
import type { OperationName } from "../resources/catalogue.js";
import type { Payment, PaymentStatus } from "../resources/payments.js";
import { type IdentityEndpoint, IdentityProvider } from "./identity-provider.js";
import {
  type SandboxCredentials,
  type SandboxOptions,
  type SandboxQuirks,
  type SandboxRequest,
  type SandboxSettings,
  toSettings,
  withoutPath,
} from "./options.js";
import { createIntent, createPayment, setReceiverStatus } from "./payments.js";
import { type Handler, handleGatewayWithdrawal, handleRecord } from "./records.js";
import { type Admit, refusalResponse, remember, SandboxRefusal, throttle } from "./refusal.js";
import {
  assertBody,
  checkSignature,
  mustSign,
  type OperationRequest,
  parseRequest,
  type Route,
  routeOf,
  signatureHeader,
} from "./requests.js";
import { type AccountDirectory, Store, type StoredRecords } from "./store.js";
import type { TokenRequest, Tokens } from "./tokens.js";

/** One request that reached the sandbox. Its query may have account numbers, but no secret. It is empty for logins. */
export interface LoggedRequest extends Omit<SandboxRequest, "headers" | "body"> {
  readonly atMs: number;
  /** The status of the response. 0 if the connection was broken off, and `undefined` while there is no response. */
  readonly status: number | undefined;
}

/** Facts about a request that a web `Request` can't hold. */
export interface SandboxWire {
  /** The method, if `Request` refuses it, such as `TRACE`. */
  readonly method?: string;
  /** Path and query exactly as they were on the wire. URL objects rewrite some paths. */
  readonly target?: string;
  /** The client's address. Throttles count by it. */
  readonly address?: string;
  /** Scheme and host as which the sandbox was addressed, with which the issuer of ID tokens begins. Default: the request's. */
  readonly origin?: string;
}

/** Options of a client, as far as the sandbox knows them. */
export interface SandboxClientOptions {
  readonly baseUrl: string;
  readonly auth: SandboxCredentials & { readonly authUrl: string };
}

/** A request before anything is done with it. */
export interface Arrived {
  readonly seen: SandboxRequest;
  readonly bytes: Uint8Array;
  /** Present if it is a request for an operation. */
  readonly route: Route | undefined;
  /** An endpoint of the identity provider, or why the request is neither. */
  readonly otherwise: IdentityEndpoint | SandboxRefusal | undefined;
  readonly address: string;
  readonly origin: string;
}

/** Stands around the work on every request. It returns the response. */
export type SandboxWatcher = (arrived: Arrived, respond: () => Promise<Response>) => Promise<Response>;

/**
 * The described service in memory. Two sandboxes share nothing.
 *
 * `docs/sandbox.md` lists what the description leaves open and the sandbox decides.
 */
export class Sandbox {
  /** The accounts that name verification knows. */
  readonly accounts: AccountDirectory;
  /** Base path of the operations, or empty. */
  readonly basePath: string;
  /** Base path of the identity provider, or empty. */
  readonly authPath: string;
  readonly #settings: SandboxSettings;
  readonly #store: Store;
  readonly #identity: IdentityProvider;
  readonly #admit: Admit;
  readonly #requests: LoggedRequest[] = [];
  readonly #tokenRequests: TokenRequest[] = [];
  #watcher: SandboxWatcher = (_, respond) => respond();

  constructor(options: SandboxOptions) {
    const settings = toSettings(options);
    this.#settings = settings;
    this.#store = new Store(settings);
    this.#identity = new IdentityProvider(settings);
    this.#admit = throttle(settings.quirks.throttle, settings.now);
    this.accounts = this.#store.accounts;
    this.basePath = settings.basePath;
    this.authPath = settings.authPath;
  }

  /** The credentials of a client. */
  get credentials(): SandboxCredentials {
    return this.#settings.credentials;
  }

  /** Path of the token operation. */
  get tokenPath(): string {
    return this.#identity.pathOf("token");
  }

  /** Path that ends a session. */
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
    const entries = Object.entries(this.#store.records).map(([name, collection]) => [name, collection.records()]);
    return Object.fromEntries(entries) as StoredRecords;
  }

  /** Copies of the stored payments, oldest first. */
  get payments(): readonly Payment[] {
    return this.#store.records.payments.records();
  }

  /**
   * Sets a payment's `receiverGatewayStatus`, as the receiving gateway would, and `updatedAt`. The first `processed` also sets
   * `receiverGatewayTransactionId`. Any status can follow any other.
   *
   * @returns a copy of the payment.
   * @throws {InvalidArgumentError} if there is no such payment, or the status isn't one of the four that are described.
   */
  setReceiverStatus(paymentId: string, status: PaymentStatus): Payment {
    return setReceiverStatus(this.#store, paymentId, status);
  }

  /** Revokes every access token. `all` revokes every refresh token, too, as an administrator who ends all sessions. */
  revokeTokens(which: "access" | "all" = "access"): void {
    this.#identity.tokens.revoke(which);
  }

  /**
   * Lets a watcher see every request before the hooks do.
   *
   * @internal
   */
  watch(watcher: SandboxWatcher): { readonly store: Store; readonly tokens: Tokens } {
    this.#watcher = watcher;
    return { store: this.#store, tokens: this.#identity.tokens };
  }

  /**
   * Options for a client of this sandbox at two addresses. `basePath` and `authPath` are added if they aren't at their ends.
   *
   * @throws {ConfigError} if an address has another path.
   */
  clientOptions(addresses: { readonly baseUrl: string; readonly authUrl: string }): SandboxClientOptions {
    return {
      baseUrl: withoutPath("baseUrl", addresses.baseUrl, this.basePath) + this.basePath,
      auth: {
        ...this.credentials,
        authUrl: withoutPath("authUrl", addresses.authUrl, this.authPath) + this.authPath,
      },
    };
  }

  /**
   * The service as a `fetch` of any host: only the path counts. It is bound, so you can pass it on.
   *
   * @throws {TypeError} if a hook responds with `Response.error()`.
   */
  readonly fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { signal } = request;
    signal.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    const response = await Promise.race([this.handle(request), aborted]);
    if (response.type === "error") throw new TypeError("fetch failed");
    return response;
  };

  /** The service as a function of requests. `Response.error()` means that the connection is broken off. */
  async handle(request: Request, wire: SandboxWire = {}): Promise<Response> {
    const arrived = await this.#arrive(request, wire);
    const logged = this.#log(arrived);
    const response = await this.#watcher(arrived, async () => {
      const { delayMs } = this.#settings.quirks;
      if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs));
      const { onRequest, onResponse } = this.#settings;
      const instead = await onRequest?.(arrived.seen);
      if (instead !== undefined) return instead;
      const response = await this.#respond(arrived);
      return (await onResponse?.(arrived.seen, response)) ?? response;
    });
    Object.assign(logged, { status: response.status });
    return response;
  }

  async #arrive(request: Request, wire: SandboxWire): Promise<Arrived> {
    const url = new URL(request.url);
    const { method = request.method, address = "", origin = url.origin } = wire;
    const { headers } = request;
    const bytes = new Uint8Array(await request.arrayBuffer());
    const target = wire.target ?? request.url.slice(url.origin.length);
    const [, path = "", query = ""] = /^([^?]*)\??(.*)$/s.exec(target) ?? [];
    const found = this.#identity.endpointOf(path) ?? routeOf(method, path, this.basePath);
    const isOperation = typeof found === "object" && !(found instanceof SandboxRefusal);
    const operation = isOperation ? (found.operation.name as OperationName) : undefined;
    const seen = {
      operation: found === "token" ? found : operation,
      ...{ method, path, query, headers, body: new TextDecoder().decode(bytes) },
      signed: headers.has(signatureHeader),
    };
    const where = isOperation ? { route: found, otherwise: undefined } : { route: undefined, otherwise: found };
    return { seen, bytes, ...where, address, origin };
  }

  #log({ seen, otherwise }: Arrived): LoggedRequest {
    const { operation, method, path, signed, body } = seen;
    // A logout names the session by its ID token.
    const query = typeof otherwise === "string" ? "" : seen.query;
    const atMs = this.#settings.now();
    const logged = { operation, method, path, query, signed, atMs, status: undefined };
    remember(this.#requests, logged);
    if (operation === "token") {
      const form = new URLSearchParams(body);
      remember(this.#tokenRequests, { grantType: form.get("grant_type") ?? "", atMs, fields: [...form.keys()] });
    }
    return logged;
  }

  async #respond(arrived: Arrived): Promise<Response> {
    const { seen, bytes, route, otherwise, address } = arrived;
    if (typeof otherwise === "string") return this.#identity.respond(otherwise, arrived);
    if (route === undefined) return refusalResponse(otherwise ?? unauthorized);
    const { operation } = route;
    try {
      this.#admit(address);
      if (!this.#identity.tokens.accepts(seen.headers.get("authorization"))) throw unauthorized;
      const output = await this.#operate({ seen, bytes, route });
      if (output === undefined) return new Response(null, { status: 200 });
      const headers = { "content-type": "application/json" };
      return new Response(shaped(output, operation.record, this.#settings.quirks), { headers });
    } catch (error) {
      if (error instanceof SandboxRefusal) return refusalResponse(error, operation.verb);
      throw error;
    }
  }

  /** Does what is asked for, or nothing. */
  async #operate(request: OperationRequest): Promise<unknown> {
    const { operation } = request.route;
    const parsed = parseRequest(this.#settings, request);
    const verified = mustSign(this.#settings, operation) ? await checkSignature(this.#store, parsed) : undefined;
    // A client sends an added field back.
    const { addedField: _, ...described } = parsed.body;
    const body = this.#settings.quirks.addsFields ? described : parsed.body;
    assertBody(operation, body);
    const handle = handlers[operation.name] ?? handleRecord;
    return handle(this.#store, { ...parsed, body, query: new URLSearchParams(parsed.seen.query), verified });
  }
}

/** Operations that don't follow from their row alone. */
const handlers: Readonly<Record<string, Handler>> = {
  "paymentGateways.withdrawals.list": handleGatewayWithdrawal,
  "paymentGateways.withdrawals.get": handleGatewayWithdrawal,
  "paymentGateways.withdrawals.update": handleGatewayWithdrawal,
  "paymentIntents.create": createIntent,
  "payments.create": createPayment,
};

/**
 * Makes a sandbox.
 *
 * @throws {ConfigError} if an option is wrong.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return new Sandbox(options);
}

const unauthorized = new SandboxRefusal("unauthorized", "the access token is missing or invalid", 401, {
  "www-authenticate": "Bearer",
});

/** A record, or a list of them, as the quirks show it. */
function shaped(output: unknown, fields: FieldTable, { normalizesAmounts, addsFields }: SandboxQuirks): string {
  if (!normalizesAmounts && !addsFields) return JSON.stringify(output);
  return JSON.stringify(output, (name, value) => {
    if (normalizesAmounts && fields[name] === "decimal") return value.replace(/(\.\d*?)0*$/, "$1").replace(/\.$/, "");
    return addsFields && Object(value).id !== undefined ? { ...value, addedField: "added" } : value;
  });
}
