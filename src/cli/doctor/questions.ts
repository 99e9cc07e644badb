import type { CrossBorderClient } from "../../client.js";
import { clock } from "../../core/clock.js";
import { Deadline, Ended } from "../../core/deadline.js";
import { ApiError } from "../../core/errors.js";
import { isPassingStatus } from "../../wire/response.js";
import { Exit, exitCodes } from "../terminal.js";
import { type Check, openSocket, type Result, skipped, type Way } from "./checks.js";

/** Why a question has no answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

type Row = Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, string>>;

/** The service, as its answers show it. */
export function serviceOf(client: CrossBorderClient, baseUrl: string, way: Way, waitMs: number, signal: AbortSignal) {
  /** Refusals are answers, too. @throws {CrossBorderError} if the service doesn't answer, or needs another login. */
  const get = async (path: `/${string}`, query: Query = {}) => {
    try {
      const { data, response } = await client.request({ method: "GET", path, query }, { signal }).withResponse();
      return { ...response, rows: Array.isArray(data) ? data.map(toRow) : undefined };
    } catch (error) {
      if (!(error instanceof ApiError) || [401, 403].includes(error.status) || isPassingStatus(error.status))
        throw error;
      return { ...error.response, rows: undefined };
    }
  };
  /** `undefined` if the query is refused. */
  const taken = async (query: Query) => (await get("/payments", query)).rows;
  const list = async (query: Query = {}): Promise<readonly Row[]> => {
    const rows = await taken(query);
    if (rows === undefined) throw new NoAnswer(`the service refuses the query ${JSON.stringify(query)}`);
    return rows;
  };
  /** The payments after those of a page. */
  const after = async (page: readonly Row[]): Promise<readonly Row[]> => {
    const bound = directionOf(valuesOf(page)) === "down" ? "_before" : "_after";
    const next = await taken({ [bound]: valuesOf(page).at(-1) ?? "", _size: "5" });
    return next?.filter(({ id }) => !page.some((one) => one.id === id)) ?? [];
  };
  let page: readonly Row[] | undefined;
  /** Some payments in the service's own order. @throws {NoAnswer} if there are fewer than `least`. */
  const firstPage = async (least: number): Promise<readonly Row[]> => {
    page ??= (await taken({ _size: "20" })) ?? (await list());
    for (let pages = 1; pages < 5 && page.length < least; pages += 1) page = [...page, ...(await after(page))];
    if (page.length >= least) return page;
    throw new NoAnswer(`it needs ${least} payments, and there are ${page.length}`);
  };
  return { get, taken, list, after, firstPage, baseUrl: new URL(baseUrl), way, waitMs, signal };
}

type Service = ReturnType<typeof serviceOf>;

const toRow = (row: unknown): Row => Object(row);

function valuesOf(rows: readonly Row[], field = "pagingToken"): readonly string[] {
  return rows.map((row) => String(row[field] ?? ""));
}

/** By whole numbers if all values are some, and otherwise by texts. */
function directionOf(values: readonly string[]): "up" | "down" | "neither" {
  const width = values.every((value) => /^\d+$/.test(value)) ? 40 : 0;
  const padded = values.map((value) => value.padStart(width, "0"));
  const steps = padded
    .slice(1)
    .map((value, index) => value > (padded[index] ?? "") || (value === padded[index] && "same"));
  if (steps.includes(true) === steps.includes(false)) return "neither";
  return steps.includes(true) ? "up" : "down";
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const deadline = new Deadline({ signal });
  await deadline.sleep(ms).finally(() => deadline.finish());
}

interface Answer extends Pick<Result, "settings"> {
  readonly value: NonNullable<Result["value"]>;
  /** For people. By default the value. */
  readonly says?: string;
}

export function questionsOf(service: Service): readonly Check[] {
  return Object.entries(questions).map(([name, ask]) => ({
    name,
    async run() {
      try {
        const { value, says: found = sentence(value), ...rest } = await ask(service);
        return { status: "ok", found, value, ...rest };
      } catch (error) {
        if (service.signal.aborted) throw new Exit(exitCodes.interrupted);
        if (error instanceof NoAnswer) return skipped(error.message);
        throw error;
      }
    },
  }));
}

function sentence(value: Answer["value"]): string {
  if (typeof value === "string") return value;
  return Object.entries(value)
    .map(([name, word]) => `${name}: ${word}`)
    .join(", ");
}

/** The questions of docs/command.md. */
const questions: Readonly<Record<string, (service: Service) => Promise<Answer>>> = {
  async size({ taken, after }) {
    for (const size of [1000, 500, 250, 200, 100, 50, 25, 20, 10]) {
      const rows = await taken({ _size: String(size) });
      if (rows === undefined) continue;
      const largest = rows.length;
      if (largest < size && (await after(rows)).length === 0) throw new NoAnswer(`there are only ${largest} payments`);
      const above = largest < size ? "clipped" : size === 1000 ? "unknown" : "refused";
      return { value: { largest, above }, settings: { "client.payments.list": { size: largest } } };
    }
    throw new NoAnswer("every _size was refused");
  },
  async tokens({ firstPage }) {
    const rows = await firstPage(3);
    const tokens = valuesOf(rows);
    if (tokens.includes("")) return { value: "none" };
    const order = directionOf(tokens);
    const kind = tokens.every((token) => /^\d+$/.test(token)) ? "numbers" : "texts";
    const value = { kind, tokens: order, createdAt: directionOf(valuesOf(rows, "createdAt")) };
    return { value, ...(order === "neither" && { settings: { "client.payments.list": { trustCursor: true } } }) };
  },
  async sort({ firstPage, taken }) {
    await firstPage(3);
    const value: Record<string, string> = {};
    for (const field of ["pagingToken", "createdAt"]) {
      const orders = [await taken({ _sort: `${field}.asc` }), await taken({ _sort: `${field}.desc` })];
      const found = orders.map((rows) => rows && directionOf(valuesOf(rows, field)));
      value[field] = found.includes(undefined) ? "refused" : `${found}` === "up,down" ? "sorted" : "ignored";
    }
    return { value };
  },
  async filters({ firstPage, taken }) {
    const [row = {}] = await firstPage(1);
    const value: Record<string, string> = {};
    for (const field of ["id", "senderGatewayTransactionId", "receiverGatewayStatus", "unknownField"]) {
      const right = await taken({ [field]: String(row[field]), _size: "5" });
      const wrong = await taken({ [field]: "no-such-value", _size: "5" });
      if (right === undefined || wrong === undefined) value[field] = "refused";
      else if (wrong.length > 0) value[field] = "ignored";
      else value[field] = right.some((one) => one[field] === row[field]) ? "filters" : "lists nothing";
    }
    return { value };
  },
  async clock({ get }) {
    const sentAtMs = clock.wallMs();
    const { headers } = await get("/payments", { _size: "1" });
    // It has whole seconds.
    const aheadMs = Date.parse(headers.date ?? "") + 500 - (sentAtMs + clock.wallMs()) / 2;
    if (Number.isNaN(aheadMs)) throw new NoAnswer("responses have no Date");
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    const says = `${seconds} s ${aheadMs < 0 ? "behind" : "ahead of"} this machine's`;
    // The flow's default is a minute.
    if (seconds <= 30) return { value: "within 30 s", says };
    const settings = { PaymentFlow: { clockSkewMs: 2000 * seconds } };
    return { value: `${Math.ceil(seconds / 60)} min`, says, settings };
  },
  async caches({ get, signal }) {
    await get("/payments", { _size: "3" });
    // Until a cached response has an age.
    await pause(1100, signal);
    const { headers } = await get("/payments", { _size: "3" });
    const isHit = ["x-cache", "cache-status", "cf-cache-status"].some((name) => /\bhit\b/i.test(headers[name] ?? ""));
    return { value: isHit || Number(headers.age) > 0 ? "a cache ignores no-cache: have it removed" : "none" };
  },
  async listed({ list, waitMs, signal }) {
    const seen = new Set<unknown>();
    let [count, latestMs, lookedAtMs] = [0, 0, 0];
    const endMs = clock.monotonicMs() + waitMs;
    do {
      const atMs = clock.wallMs();
      for (const { id, createdAt } of await list({ _sort: "pagingToken.desc", _size: "20" })) {
        if (!seen.has(id) && lookedAtMs > 0) {
          count += 1;
          // How long it had been there, and not listed, at the previous look.
          latestMs = Math.max(latestMs, lookedAtMs - Date.parse(String(createdAt)));
        }
        seen.add(id);
      }
      lookedAtMs = atMs;
      await pause(Math.min(waitMs, 1000), signal);
    } while (clock.monotonicMs() < endMs);
    if (count === 0) throw new NoAnswer("no payment was made in the meantime: ask the service's operators");
    const seconds = Math.ceil(latestMs / 1000);
    const says = `within ${seconds} s, of ${count} payments`;
    // The flow's default is 10 seconds.
    if (seconds <= 3) return { value: "within 3 s", says };
    return { value: "later", says, settings: { PaymentFlow: { readBackDelayMs: 3000 * seconds } } };
  },
  /** By a request without a token, on a connection of its own that is then left alone. */
  async idle({ baseUrl, way, waitMs, signal }) {
    if (way.proxyFor(baseUrl) !== undefined) throw new NoAnswer("a proxy is in between");
    const socket = await openSocket(baseUrl, way);
    let lastByteMs: number | undefined;
    socket
      .on("error", () => {})
      .on("data", () => {
        lastByteMs = clock.monotonicMs();
      });
    const closed = new Promise<void>((resolve) => void socket.once("end", resolve).once("close", resolve));
    const path = `${baseUrl.pathname.replace(/\/$/, "")}/payments`;
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${baseUrl.host}\r\n\r\n`);
    const deadline = new Deadline({ timeoutMs: waitMs, signal });
    try {
      await deadline.race(closed);
      if (lastByteMs === undefined) throw new NoAnswer("the connection was closed without a response");
      const ms = clock.monotonicMs() - lastByteMs;
      // A quarter less, since a request must arrive before the service closes the connection.
      const keepAliveTimeout = Math.max(100, Math.floor(ms * 0.75));
      return { value: `${Math.round(ms / 1000)} s`, settings: { "undici's Agent": { keepAliveTimeout } } };
    } catch (error) {
      if (!(error instanceof Ended && error.kind === "timeout")) throw error;
      return { value: "not seen", says: `not within ${waitMs / 1000} s` };
    } finally {
      deadline.finish();
      socket.destroy();
    }
  },
};
