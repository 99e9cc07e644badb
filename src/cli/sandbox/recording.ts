import { appendFileSync, closeSync, openSync } from "node:fs";
import type { FieldKind, FieldTable } from "../../api/fields.js";
import type { Operation } from "../../api/operation.js";
import { operations } from "../../resources/catalogue.js";
import type { SandboxRequest } from "../../sandbox/index.js";
import { isShownField, shownQuery } from "../../sandbox/shown-query.js";
import { parseObject } from "../../wire/response.js";

/**
 * Writes down what a sandbox is asked, and how it responds, one JSON text a line: see docs/command-sandbox.md. Each line is with the operating
 * system before the sandbox goes on, so that a kill loses none. Secrets and tokens are left out: what is written is a list of what may be.
 */
export class Recording implements Disposable {
  /** Rejects where nothing more can be written: the disk is full, say. */
  readonly failed: Promise<never>;
  readonly #fail: (error: unknown) => void;
  readonly #file: number;
  #last = 0;
  #isClosed = false;

  /** @throws where the file exists, or can't be made. */
  constructor(path: string) {
    this.#file = openSync(path, "wx", 0o600);
    let fail: (error: unknown) => void = () => {};
    this.failed = new Promise((_, reject) => {
      fail = reject;
    });
    // A caller that waits for it is told; none has to wait.
    this.failed.catch(() => {});
    this.#fail = fail;
  }

  /** Records one exchange: what was sent in the end, whatever a fault has made of it. */
  async record(request: SandboxRequest, respond: () => Promise<Response>): Promise<Response> {
    this.#last += 1;
    const number = this.#last;
    this.#request(request, number);
    const response = await respond();
    await this.#response(request, response, number);
    return response;
  }

  #request(request: SandboxRequest, number: number): void {
    const { operation, method, path, headers } = request;
    this.#write("request", number, {
      ...{ operation, method, path },
      query: queryOf(request),
      headers: shownHeaders(headers, requestHeaders),
      body: shownRequestBody(request),
    });
  }

  async #response(request: SandboxRequest, response: Response, number: number): Promise<void> {
    const text = await response.clone().text();
    this.#write("response", number, {
      status: response.status,
      headers: shownHeaders(response.headers, responseHeaders),
      body: shownResponseBody(request, text),
    });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    closeSync(this.#file);
  }

  #write(kind: "request" | "response", number: number, facts: object): void {
    // A request that is still in flight: the number of the file may be another file's by now.
    if (this.#isClosed) return;
    const line = JSON.stringify({ kind, number, at: new Date().toISOString(), ...facts });
    try {
      appendFileSync(this.#file, `${line}\n`);
    } catch (error) {
      this.#fail(error);
    }
  }
}

const requestHeaders = ["accept", "content-type", "user-agent", "x-service-signature-base64"];
const responseHeaders = ["allow", "content-type", "retry-after"];

function shownHeaders(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => pairOf(name, headers.get(name))));
}

function pairOf(name: string, value: string | null): [string, string][] {
  return value === null ? [] : [[name, value]];
}

/** Of a login and its page the query carries what leads to tokens. */
function queryOf({ operation, query }: SandboxRequest): string | undefined {
  const row = rowOf(operation);
  return row === undefined || query === "" ? undefined : shownQuery(query, row.record, hidden);
}

const hidden = "(hidden)";

/** What the form of a token request says beside secrets. */
const formFields = ["grant_type", "client_id", "username", "scope"];
const tokenFields = ["token_type", "expires_in", "refresh_expires_in", "scope", "error", "error_description"];

function shownRequestBody({ operation, body }: SandboxRequest): string | undefined {
  if (body === "") return undefined;
  if (operation === "token") {
    const form = new URLSearchParams(body);
    return new URLSearchParams(formFields.flatMap((name) => pairOf(name, form.get(name)))).toString();
  }
  const row = rowOf(operation);
  return row === undefined ? undefined : shownJson(body, row);
}

function shownResponseBody({ operation }: SandboxRequest, text: string): string | undefined {
  if (text === "") return undefined;
  if (operation === "token") return JSON.stringify(parseObject(text), tokenFields);
  const row = rowOf(operation);
  return row === undefined ? undefined : shownJson(text, row);
}

/** Nothing for a token request, and for what is no operation: anything can stand in it. */
function rowOf(operation: SandboxRequest["operation"]): Operation | undefined {
  return operation === undefined || operation === "token" ? undefined : operations.get(operation);
}

/** As it is where its records have no secrets and it has no field besides theirs, since signatures are made of bytes. */
function shownJson(text: string, { record, body }: Operation): string | undefined {
  const fields = { ...record, ...body?.fields, ...errorFields };
  try {
    const value: unknown = JSON.parse(text);
    const isShown = [value].flat().every((one) => isShownRecord(one, fields));
    return isShown && !hasSecrets(fields) ? text : JSON.stringify(shownValue(value, fields));
  } catch {
    // Not JSON, such as a form, so that it can't be told where the secret is.
    return undefined;
  }
}

function hasSecrets(fields: FieldTable): boolean {
  return Object.values(fields).includes("secret");
}

function isShownRecord(value: unknown, fields: FieldTable): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, field]) => isShownField(name, fields) && isPlain(field, fields[name]));
}

/** No field of the description holds others, but for those that may hold anything. */
function isPlain(value: unknown, kind: FieldKind | undefined): boolean {
  return kind === "any" || typeof value !== "object" || value === null;
}

function shownValue(value: unknown, fields: FieldTable): unknown {
  if (Array.isArray(value)) return value.map((record) => shownValue(record, fields));
  if (typeof value !== "object" || value === null) return hidden;
  const entries = Object.entries(value).map(([name, field]) => [
    name,
    isShownField(name, fields) && isPlain(field, fields[name]) ? field : hidden,
  ]);
  return Object.fromEntries(entries);
}

const errorFields: FieldTable = { code: "text", error: "text", message: "text" };
