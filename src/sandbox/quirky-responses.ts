import type { SandboxQuirks } from "./quirks.js";
import { jsonResponse } from "./responses.js";

/** What stands between the service and its callers: machines with clocks of their own, a cache, another form of refusals. */
export class QuirkyResponses {
  readonly #quirks: SandboxQuirks;
  readonly #now: () => number;
  readonly #cached = new Map<string, { readonly atMs: number; readonly text: string }>();
  #turns = 0;

  constructor(quirks: SandboxQuirks, now: () => number) {
    this.#quirks = quirks;
    this.#now = now;
  }

  nextMachine(): number {
    return this.#turns++ % (this.#quirks.machineClocksMs?.length ?? 1);
  }

  /** The response of one machine, as it leaves. */
  async leave(response: Response, machine: number): Promise<Response> {
    const clockMs = this.#quirks.machineClocksMs?.[machine];
    const shaped = response.status >= 400 ? await this.#shape(response) : response;
    if (clockMs !== undefined && shaped.type !== "error") {
      shaped.headers.set("date", new Date(this.#now() + clockMs).toUTCString());
    }
    return shaped;
  }

  /** The response of a list, or the one that a cache has of it. */
  async cached(target: string, headers: Headers, respond: () => Promise<Response>): Promise<Response> {
    const { cacheSeconds = 0, cacheIgnoresNoCache = false } = this.#quirks;
    if (cacheSeconds === 0) return respond();
    const cacheControl = { "cache-control": `max-age=${cacheSeconds}` };
    const known = this.#cached.get(target);
    const ageSeconds = known === undefined ? Infinity : Math.floor((this.#now() - known.atMs) / 1000);
    const isPassed = !cacheIgnoresNoCache && /no-cache/.test(headers.get("cache-control") ?? "");
    if (known !== undefined && ageSeconds < cacheSeconds && !isPassed) {
      return jsonResponse(JSON.parse(known.text), 200, { ...cacheControl, age: String(ageSeconds) });
    }
    const response = await respond();
    if (response.status !== 200) return response;
    const text = await response.text();
    this.#cached.set(target, { atMs: this.#now(), text });
    return jsonResponse(JSON.parse(text), 200, cacheControl);
  }

  async #shape(response: Response): Promise<Response> {
    const { errorForm = "described", unknownRecordStatus = 400 } = this.#quirks;
    if (errorForm === "described" && unknownRecordStatus === 400) return response;
    const body = (await response.json()) as { code?: string; error?: string; message: string };
    const code = body.code ?? body.error ?? "";
    const status = code === "not_found" ? unknownRecordStatus : response.status;
    const headers = Object.fromEntries(response.headers);
    if (errorForm === "described") return jsonResponse(body, status, headers);
    if (errorForm === "problem") {
      const problem = { type: "about:blank", title: code, status, detail: body.message };
      return jsonResponse(problem, status, { ...headers, "content-type": "application/problem+json" });
    }
    const page = `<html><body><h1>${status}</h1></body></html>`;
    return new Response(page, { status, headers: { ...headers, "content-type": "text/html" } });
  }
}
