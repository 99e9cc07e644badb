import { SandboxRefusal } from "../responses.js";
import type { Arrived } from "../sandbox.js";
import { shownQuery } from "../shown-query.js";
import type { FaultKind, RequestLine } from "./console-state.js";
import { pageHeader } from "./own-page-only.js";
import type { SignatureNote } from "./signature-note.js";

interface RequestFacts {
  readonly atMs: number;
  readonly note: SignatureNote;
  readonly fault: FaultKind | undefined;
}

/** The newest requests, as the page shows them. */
export class RequestLog {
  #entries: Entry[] = [];
  #lastId = 0;

  /** The newest first. Each look explains one wrong signature more, so that a look is never slow. */
  lines(): RequestLine[] {
    const unexplained = this.#entries.findLast(({ note }) => note.explain !== undefined);
    if (unexplained?.note.explain !== undefined) unexplained.note = { line: unexplained.note.explain() };
    return this.#entries.map(({ line, note }) => ({ ...line, signature: note.line })).reverse();
  }

  add(arrived: Arrived, facts: RequestFacts): Entry {
    this.#lastId += 1;
    const { operation, method, path } = arrived.seen;
    const line = {
      id: String(this.#lastId),
      atMs: facts.atMs,
      method: short(method),
      path: short(path),
      query: short(queryOf(arrived)),
      operation,
      isOwn: arrived.seen.headers.has(pageHeader),
      status: undefined,
      tookMs: undefined,
      error: undefined,
      fault: facts.fault,
    };
    const entry = new Entry(line, facts.note);
    this.#entries = [...this.#entries, entry].slice(-mostRequests);
    return entry;
  }
}

const mostRequests = 200;

/** One request, of which more and more is known. */
export class Entry {
  line: Omit<RequestLine, "signature">;
  note: SignatureNote;
  readonly #startMs = performance.now();

  constructor(line: Entry["line"], note: SignatureNote) {
    this.line = line;
    this.note = note;
  }

  /** @param response Nothing where a hook threw. */
  end(response: Response | undefined): void {
    const status = response?.status ?? 500;
    const tookMs = Math.round(10 * (performance.now() - this.#startMs)) / 10;
    this.line = { ...this.line, status, tookMs };
    if (response === undefined) this.line = { ...this.line, error: "a hook of the sandbox threw" };
    if (response !== undefined && status >= 400) {
      // A body that never ends keeps nobody waiting.
      void errorOf(response.clone()).then((error) => {
        this.line = { ...this.line, error };
      });
    }
  }
}

async function errorOf(response: Response): Promise<string | undefined> {
  try {
    const body = Object(await response.json());
    const texts = [body.error ?? body.code, body.message ?? body.error_description];
    return short(texts.filter((text) => typeof text === "string").join(": "));
  } catch {
    return undefined;
  }
}

/** Requests to the identity provider name sessions and codes in their query, and foreign ones may name anything. */
function queryOf({ seen, route }: Arrived): string {
  if (typeof route === "string" || route instanceof SandboxRefusal) return "";
  return shownQuery(seen.query, route.operation.record, "…");
}

function short(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
