import type { FieldTable } from "../../api/fields.js";
import { CrossBorderError } from "../../core/errors.js";
import type { OperationName } from "../../resources/catalogue.js";
import { readPublicKey } from "../../signing/keys.js";
import { explainSignature } from "../../verification/explain-signature.js";
import { refusalResponse, SandboxRefusal } from "../refusal.js";
import { checkSignature, isPlain, mustSign, parseRequest, shownQuery, signersOf } from "../requests.js";
import type { Arrived } from "../sandbox.js";
import type { Store } from "../store.js";

/** One request, and what became of it. It has secrets: pages show what `shownOf` returns. */
export interface Exchange {
  readonly id: string;
  readonly atMs: number;
  readonly arrived: Arrived;
  readonly signature: "" | "valid" | "missing" | "wrong" | "not checked";
  readonly fault: Fault | undefined;
  /** 0 if the response was lost, and `undefined` while there is none, or if a hook threw. */
  readonly status?: number;
  readonly tookMs?: number;
  readonly response?: { readonly headers: Headers; readonly text: string };
}

const mostExchanges = 200;
/** A longer body is not explained: it would take tens of thousands of hashes. */
const longestExplained = 8 * 1024;

/** The newest requests. */
export class RequestLog {
  /** The newest first. */
  exchanges: readonly Exchange[] = [];
  #lastId = 0;

  /** @throws {SandboxRefusal} */
  find(id: string): Exchange {
    const exchange = this.exchanges.find((one) => one.id === id);
    if (exchange !== undefined) return exchange;
    throw new SandboxRefusal("not_found", "The log doesn't have this request.");
  }

  /** @param respond does the work, and returns its response. */
  async watch(
    store: Store,
    arrived: Arrived,
    fault: Fault | undefined,
    respond: () => Promise<Response>,
  ): Promise<Response> {
    this.#lastId += 1;
    const exchange: Exchange = {
      ...{ id: String(this.#lastId), atMs: store.settings.now(), arrived, fault },
      signature: await verdictOf(store, arrived),
    };
    this.exchanges = [exchange, ...this.exchanges].slice(0, mostExchanges);
    const startMs = performance.now();
    const response = await respond();
    const { status, headers } = response;
    Object.assign(exchange, { status, tookMs: Math.round(10 * (performance.now() - startMs)) / 10 });
    if (response.type === "error") return response;
    // In the background: the body of a hook's response may never end.
    const read = response.clone().text();
    read.then((text) => Object.assign(exchange, { response: { headers, text } })).catch(() => {});
    return response;
  }
}

/** Checks a signature by the keys that are registered now, also if the request has another mistake. */
async function verdictOf(store: Store, { route, ...request }: Arrived): Promise<Exchange["signature"]> {
  if (route === undefined || !mustSign(store.settings, route.operation)) return "";
  try {
    await checkSignature(store, parseRequest(store.settings, { ...request, route }));
    return "valid";
  } catch (error) {
    if (!(error instanceof SandboxRefusal)) throw error;
    if (error.code === "missing_signature") return "missing";
    return error.code === "invalid_signature" ? "wrong" : "not checked";
  }
}

/** Why a signature is wrong or could not be checked, in sentences. It takes up to a second. */
export function whyWrong(store: Store, { arrived, signature }: Exchange): readonly string[] {
  const { route, ...request } = arrived;
  if (route === undefined || (signature !== "wrong" && signature !== "not checked")) return [];
  try {
    const parsed = parseRequest(store.settings, { ...request, route });
    const [gateway] = signersOf(store, parsed);
    if (gateway === undefined) return ["No gateway is registered."];
    const { rsaPublicKeyBase64: publicKey } = gateway;
    const nameOf = (named: typeof gateway) => named.institutionId || named.id;
    if (parsed.bytes.length > longestExplained) {
      return [`The body has more than ${longestExplained} bytes. Use "cross-border explain-signature".`];
    }
    const others = store.records.paymentGateways
      .records()
      .filter(({ id, rsaPublicKeyBase64: key }) => id !== gateway.id && readPublicKey(key) instanceof Object);
    const { findings } = explainSignature({
      ...{ path: parsed.signedPath, body: parsed.bytes, signature: parsed.signature ?? "", publicKey },
      otherKeys: new Map(others.map((other) => [nameOf(other), other.rsaPublicKeyBase64])),
      ...{ basePath: store.settings.basePath, origin: arrived.origin },
    });
    const texts = findings.map(({ aspect, problem, remedy }) => `${aspect}: ${problem}. To fix it, ${remedy}.`);
    return texts.length > 0
      ? texts
      : [`No known mistake explains it. The key of ${nameOf(gateway)} doesn't verify it.`];
  } catch (error) {
    // The gateway may have registered a text that isn't a key.
    if (error instanceof SandboxRefusal || error instanceof CrossBorderError) return [`${error.message}.`];
    throw error;
  }
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** A request and its response without secrets. */
export function shownOf({ arrived, response }: Exchange) {
  const operation = arrived.route?.operation;
  const { path, query, headers, body: text, operation: name } = arrived.seen;
  const fields = { ...plainFields, ...operation?.body?.fields, ...operation?.record };
  // The query of a login names sessions and codes.
  const asked = operation === undefined ? "" : shownQuery(query, operation.record);
  const body = name === "token" ? shownQuery(text, plainFields).replaceAll("&", "\n") : shownJson(text, fields);
  return {
    target: asked === "" ? path : `${path}?${asked}`,
    ...{ headers: shownHeaders(headers), body },
    // A signature is only right with the bytes that were sent.
    sentBody: body.includes("…") || operation === undefined ? body : text,
    responseHeaders: shownHeaders(response?.headers ?? new Headers()),
    responseBody: shownJson(response?.text ?? "", fields),
  };
}

/** Fields of refusals and token responses that aren't secrets. */
const plainFields = {
  ...{ error: "text", code: "text", message: "text", error_description: "text", pagingToken: "text" },
  ...{ token_type: "text", expires_in: "text", scope: "text", grant_type: "text" },
} as const satisfies FieldTable;

function shownHeaders(headers: Headers): Pairs {
  return [...headers].map(([name, value]) => {
    const scheme = /^(?:Bearer|Basic) /i.exec(value)?.[0] ?? "";
    return [
      name,
      /authorization|cookie|token|secret|password|api-key|location|referer/i.test(name) ? `${scheme}…` : value,
    ];
  });
}

/** Shows known fields that aren't secrets. An unknown or misspelled one may hold a credential. */
function shownJson(text: string, fields: FieldTable): string {
  if (text === "") return "";
  const shown = (name: string, value: unknown) => (/^\d*$/.test(name) || isPlain(fields, name) ? value : "…");
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object") return JSON.stringify(value, shown, 2);
  } catch {
    // It isn't JSON.
  }
  return `… ${text.length} characters that aren't a record`;
}

/** The faults, and how they are shown. */
export const faultKinds = {
  lost: { order: "Lose the response", effect: "lose its response", shown: "response lost" },
  unavailable: { order: "Respond with 503", effect: "get 503, and nothing is done", shown: "503" },
} as const;

export interface Fault {
  readonly kind: keyof typeof faultKinds;
  /** `any` is any operation. */
  readonly of: OperationName | "token" | "any";
}

/** Takes the armed fault that hits this request: the oldest that fits. */
export function takeFault(armed: Fault[], operation: OperationName | "token" | undefined): Fault | undefined {
  const isAny = operation !== undefined && operation !== "token";
  const index = armed.findIndex(({ of }) => of === operation || (of === "any" && isAny));
  return index < 0 ? undefined : armed.splice(index, 1)[0];
}

/** Responds as the fault says. If the response is lost, the work is done. */
export async function withFault(fault: Fault | undefined, respond: () => Promise<Response>): Promise<Response> {
  if (fault?.kind === "unavailable") {
    return refusalResponse(new SandboxRefusal("unavailable", "a fault of the console", 503));
  }
  const response = await respond();
  return fault?.kind === "lost" ? Response.error() : response;
}
