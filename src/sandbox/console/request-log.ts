import { type FieldTable, kindOfField } from "../../api/fields.js";
import type { Operation } from "../../api/operation.js";
import { describeThrown } from "../../core/describe.js";
import { explainSignature, type SignatureFinding } from "../../verification/explain-signature.js";
import type { SandboxRequest } from "../options.js";
import { SandboxRefusal } from "../refusal.js";
import { checkSignature, parseRequest, shownQuery, signersOf } from "../requests.js";
import type { Arrived } from "../sandbox.js";
import type { Store } from "../store.js";
import type { FaultKind } from "./faults.js";
import { consoleAddress, registeredFingerprint } from "./payment-desk.js";

export interface SignatureNote {
  /** `unchecked`: it can't be checked, and `why` says why. */
  readonly verdict: "not required" | "valid" | "missing" | "wrong" | "unchecked";
  /** The gateway whose key must sign. */
  readonly signer?: string | undefined;
  readonly why?: string;
  /** Why it is wrong, which takes up to a second. */
  readonly explain?: () => readonly SignatureFinding[];
}

/** One request, and what became of it. It holds secrets: pages show what `shown…` returns. */
export class LoggedExchange {
  readonly id: string;
  readonly atMs: number;
  readonly seen: SandboxRequest;
  readonly bytes: Uint8Array;
  readonly operation: Operation | undefined;
  readonly isOwn: boolean;
  readonly signature: SignatureNote;
  readonly fault: FaultKind | undefined;
  /** 0 if the response was lost, and `undefined` while there is none. */
  status: number | undefined;
  tookMs: number | undefined;
  responseHeaders: Headers | undefined;
  responseText = "";
  readonly #startMs = performance.now();

  constructor(id: string, atMs: number, arrived: Arrived, signature: SignatureNote, fault: FaultKind | undefined) {
    const { seen, bytes, route, address } = arrived;
    this.id = id;
    this.atMs = atMs;
    this.seen = seen;
    this.bytes = bytes;
    this.operation = typeof route === "string" || route instanceof SandboxRefusal ? undefined : route.operation;
    this.isOwn = address === consoleAddress;
    this.signature = signature;
    this.fault = fault;
  }

  /** @param response `undefined` if a hook of the sandbox threw. */
  end(response: Response | undefined): void {
    this.status = response?.status ?? 500;
    this.tookMs = Math.round(10 * (performance.now() - this.#startMs)) / 10;
    if (response === undefined) this.responseText = '{"message":"A hook of the sandbox threw."}';
    if (response === undefined || response.type === "error") return;
    this.responseHeaders = response.headers;
    const copy = response.clone();
    // In the background: the body of a hook's response may never end.
    void copy.text().then(
      (text) => {
        this.responseText = text.length > longestKept ? "" : text;
      },
      (error: unknown) => {
        this.responseText = JSON.stringify({ message: describeThrown(error).message });
      },
    );
  }

  get canReplay(): boolean {
    return this.operation !== undefined && this.bytes.length <= longestKept;
  }

  /** Empty for requests that aren't an operation's, since those of logins name sessions and codes. */
  get shownQuery(): string {
    return this.operation === undefined ? "" : shownQuery(this.seen.query, this.operation.record);
  }

  /** Request headers as name and value. */
  get shownHeaders(): [name: string, value: string][] {
    return shownHeaders(this.seen.headers);
  }

  get shownResponseHeaders(): [name: string, value: string][] {
    return shownHeaders(this.responseHeaders ?? new Headers());
  }

  /** The request's body if it can be shown as it is, for `curl` and signatures. */
  get exactBody(): string | undefined {
    const { body } = this.seen;
    const value = parsed(body);
    const isShown = value !== undefined && JSON.stringify(value) === JSON.stringify(this.#shown(value));
    return isShown ? body : undefined;
  }

  get shownBody(): string {
    const { body, operation: name } = this.seen;
    if (name !== "token") return asText(body, this.#shown(parsed(body)));
    return [...new URLSearchParams(body)]
      .map(([field, value]) => `${field}=${field === "grant_type" ? value : hidden}`)
      .join("\n");
  }

  get shownResponse(): string {
    return asText(this.responseText, this.#shown(parsed(this.responseText)));
  }

  #shown(value: unknown): unknown {
    const fields = { ...this.operation?.body?.fields, ...this.operation?.record };
    return shownValue(value, { ...errorFields, ...fields });
  }
}

const hidden = "…";
const longestKept = 64 * 1024;
/** A longer body is not explained: it would take tens of thousands of hashes. */
const longestExplained = 8 * 1024;
const mostExchanges = 200;

/** The newest requests. */
export class RequestLog {
  #exchanges: readonly LoggedExchange[] = [];
  #lastId = 0;

  /** The newest first. */
  get exchanges(): readonly LoggedExchange[] {
    return this.#exchanges;
  }

  async add(store: Store, arrived: Arrived, fault: FaultKind | undefined): Promise<LoggedExchange> {
    const signature = await noteSignature(store, arrived);
    this.#lastId += 1;
    const exchange = new LoggedExchange(String(this.#lastId), store.settings.now(), arrived, signature, fault);
    this.#exchanges = [exchange, ...this.#exchanges].slice(0, mostExchanges);
    return exchange;
  }

  clear(): void {
    this.#exchanges = [];
  }
}

const secretHeaders = /authorization|cookie|token|secret|password|api-key/i;
/** What is in refusals and token responses, and isn't a secret. */
const errorFields = {
  ...{ error: "text", code: "text", message: "text", error_description: "text", pagingToken: "text" },
  ...{ token_type: "text", expires_in: "text", scope: "text" },
} as const satisfies FieldTable;

function shownHeaders(headers: Headers): [name: string, value: string][] {
  return [...headers].map(([name, value]) => {
    const scheme = /^(?:Bearer|Basic) /i.exec(value)?.[0] ?? "";
    return [name, secretHeaders.test(name) ? scheme + hidden : value];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Shows known fields that aren't secrets: an unknown or misspelled one may hold a credential. */
function shownValue(value: unknown, fields: FieldTable): unknown {
  if (Array.isArray(value)) return value.map((item) => shownValue(item, fields));
  if (typeof value !== "object" || value === null) return value === undefined ? undefined : hidden;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const kind = kindOfField(fields, name);
      const isShown = kind !== undefined && kind !== "secret" && (kind === "any" || typeof inner !== "object");
      return [name, isShown || inner === null ? inner : hidden];
    }),
  );
}

function asText(text: string, shown: unknown): string {
  if (text === "") return "";
  return shown === undefined ? `${text.length} characters that aren't JSON` : JSON.stringify(shown, null, 2);
}

/** Checks a signature by the keys that are registered now, whatever else may be wrong with the request. */
async function noteSignature(store: Store, arrived: Arrived): Promise<SignatureNote> {
  const { seen, bytes, route } = arrived;
  if (typeof route === "string" || route instanceof SandboxRefusal) return { verdict: "not required" };
  const { operation } = route;
  if (!store.settings.signedOperations.some((name) => name === operation.name)) return { verdict: "not required" };
  try {
    const signed = parseRequest(store.settings, { seen, bytes, route });
    const [gateway, ...more] = signersOf(store, signed);
    const signer = more.length === 0 ? gateway?.institutionId || gateway?.id : undefined;
    const { signature } = signed;
    if (signature === null) return { verdict: "missing", signer };
    const isValid = await checkSignature(store, signed).then(
      () => true,
      () => false,
    );
    if (isValid) return { verdict: "valid", signer };
    if (gateway === undefined) return { verdict: "unchecked", why: "No gateway is registered." };
    if (registeredFingerprint(gateway) === "") {
      return { verdict: "unchecked", why: `The key that ${signer} registered isn't a public RSA key.` };
    }
    if (bytes.length > longestExplained) {
      const why = `The body has more than ${longestExplained} bytes. Use "cross-border explain-signature".`;
      return { verdict: "wrong", signer, why };
    }
    const others = store.records.paymentGateways.records().filter((other) => registeredFingerprint(other) !== "");
    const question = {
      ...{ path: signed.signedPath, body: bytes, signature, publicKey: gateway.rsaPublicKeyBase64 },
      otherKeys: new Map(
        others.filter(({ id }) => id !== gateway.id).map((o) => [o.institutionId || o.id, o.rsaPublicKeyBase64]),
      ),
      ...{ basePath: store.settings.basePath, origin: `http://${seen.headers.get("host")}` },
    };
    let findings: readonly SignatureFinding[] | undefined;
    const explain = () => {
      findings ??= explainSignature(question).findings;
      return findings;
    };
    return { verdict: "wrong", signer, explain };
  } catch (error) {
    if (error instanceof SandboxRefusal) return { verdict: "unchecked", why: error.message };
    throw error;
  }
}
