import { randomUUID } from "node:crypto";
import { clock } from "../../timing/clock.js";
import { Deadline, Ended } from "../../timing/deadline.js";
import { openSocket } from "../doctor/network-checks.js";
import type { Answer, Value } from "./answer.js";
import { roundedUp } from "./list-questions.js";
import { NoAnswer } from "./no-answer.js";
import { type Probe, sampleCount } from "./probe.js";
import type { Seen } from "./prober.js";
import type { Question } from "./question.js";
import { describe, formOf, isCached, isRefused } from "./responses.js";

const caches: Question = {
  id: "caches",
  asks: "Does a cache stand on the way, and does it keep to no-cache?",
  measuredBy: "the same list three times, and then twice with no-cache: Age and X-Cache of the responses",
  requests: 6,
  async ask({ prober }) {
    const read = (cacheControl: string) =>
      prober.send({ path: "/payments", query: { _size: "3" }, headers: { "cache-control": cacheControl } });
    const plain = [await read("max-age=600"), await read("max-age=600"), await read("max-age=600")];
    const fresh = [await read("no-cache"), await read("no-cache")];
    const seen = fresh.some(isCached) ? "ignores no-cache" : plain.some(isCached) ? "keeps to no-cache" : "none seen";
    const cacheControl =
      plain.map(({ headers }) => headers["cache-control"]).find((text) => text !== undefined) ?? null;
    return {
      value: { seen, cacheControl: cacheControl === null ? null : shortened(cacheControl) },
      says: `${seen}${cacheControl === null ? ", and no Cache-Control" : `; Cache-Control: ${shortened(cacheControl)}`}`,
      trials: plain.length + fresh.length,
    };
  },
};

function shortened(text: string): string {
  return text.replace(/[^\w=,; -]/g, "?").slice(0, 80);
}

const compression: Question = {
  id: "compression",
  asks: "Are responses compressed?",
  measuredBy: "a list for which every coding is accepted that this machine can undo",
  requests: 3,
  async ask(probe) {
    const { prober } = probe;
    const headers = { "accept-encoding": prober.acceptEncoding };
    const seen = await prober.send({ path: "/payments", query: await probe.size(), headers });
    const coding = shortened(seen.headers["content-encoding"] ?? "none");
    return { value: coding, says: coding === "none" ? "no" : `by ${coding}`, trials: 1 };
  },
};

const latency: Question = {
  id: "latency",
  asks: "How long does a small read take?",
  measuredBy: "lists of one record, one after the other",
  requests: sampleCount + 1,
  isChanged: (before, now) => partOf(now, "p95") > 3 * partOf(before, "p95") + 250,
  async ask(probe) {
    const times = (await probe.samples()).map(({ ms }) => ms).sort((one, other) => one - other);
    const at = (share: number) => Math.round(times[Math.ceil(share * times.length) - 1] ?? 0);
    const value = { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
    return {
      value,
      says: `p50 ${value.p50} ms, p95 ${value.p95} ms, p99 ${value.p99} ms`,
      trials: times.length,
    };
  },
};

const dates: Question = {
  id: "clocks.date",
  asks: "How far is the service's clock from this machine's, and how many clocks has it?",
  measuredBy: "the Date of small reads beside the local clock: clocks that can't be one count as several",
  requests: sampleCount + 1,
  isChanged: (before, now) =>
    partOf(before, "machines") !== partOf(now, "machines") ||
    ["aheadMs", "apartMs"].some((name) => Math.abs(partOf(before, name) - partOf(now, name)) > 2000),
  async ask(probe) {
    const samples = await probe.samples();
    const clocks = clocksOf(samples);
    const [first] = clocks;
    if (first === undefined) throw new NoAnswer("responses have no Date");
    const middles = clocks.map(({ fromMs, toMs }) => Math.round((fromMs + toMs) / 2));
    const apartMs = Math.max(...middles) - Math.min(...middles);
    const [aheadMs = 0] = middles;
    const most = aheadMs >= 0 ? `${aheadMs} ms ahead of` : `${-aheadMs} ms behind`;
    const several = clocks.length === 1 ? "one clock" : `at least ${clocks.length} clocks, ${apartMs} ms apart`;
    return {
      value: { aheadMs, machines: clocks.length, apartMs },
      says: `${several}; ${clocks.length === 1 ? "it" : "most"} ${most} this machine's, to within ${Math.ceil((first.toMs - first.fromMs) / 2)} ms`,
      trials: samples.length,
      ...(clocks.length > 1 && { settings: { flow: { clockSkewMs: roundedUp(2 * apartMs) } } }),
    };
  },
};

/** How far ahead of the local clock one of the service's can be. */
interface ClockRange {
  fromMs: number;
  toMs: number;
  count: number;
}

/** A server may write a `Date` that it has made a moment before. */
const staleDateMs = 100;

/** The fewest clocks that explain every `Date`, the most frequent first. */
export function clocksOf(
  samples: readonly Pick<Seen, "headers" | "sentAtMs" | "receivedAtMs">[],
): readonly ClockRange[] {
  const clocks: ClockRange[] = [];
  for (const { headers, sentAtMs, receivedAtMs } of samples) {
    const dateMs = Date.parse(headers.date ?? "");
    if (Number.isNaN(dateMs)) continue;
    const range = { fromMs: dateMs - receivedAtMs, toMs: dateMs + 1000 + staleDateMs - sentAtMs };
    const same = clocks.find(({ fromMs, toMs }) => fromMs <= range.toMs && range.fromMs <= toMs);
    if (same === undefined) clocks.push({ ...range, count: 1 });
    else {
      same.fromMs = Math.max(same.fromMs, range.fromMs);
      same.toMs = Math.min(same.toMs, range.toMs);
      same.count += 1;
    }
  }
  return clocks.sort((one, other) => other.count - one.count);
}

const form400: Question = {
  id: "errors.400",
  asks: "What does a 400 look like?",
  measuredBy: "lists with values that can't be read: _size=x, _after and _sort without a meaning",
  requests: 4,
  async ask({ prober }) {
    for (const query of [{ _size: "x" }, { _sort: "?" }, { _after: "?" }]) {
      const seen = await prober.send({ path: "/payments", query });
      if (isRefused(seen)) return refusal(seen, Object.keys(query).join());
    }
    return { value: "nothing is refused", says: "none of them was refused", trials: 3 };
  },
};

const form401: Question = {
  id: "errors.401",
  asks: "What do a missing and a wrong access token come to?",
  measuredBy: "a list without a token, and one with a token that nobody issued",
  requests: 2,
  async ask({ prober }) {
    const request = { path: "/payments", query: { _size: "1" } };
    const missing = await prober.send({ ...request, token: null });
    const wrong = await prober.send({ ...request, token: randomUUID() });
    const value = { missing: describe(missing), wrong: describe(wrong) };
    return { value, says: `missing: ${value.missing}; wrong: ${value.wrong}`, trials: 2 };
  },
};

const form404: Question = {
  id: "errors.404",
  asks: "What do a record and a path that are not there come to?",
  measuredBy: "a gateway with an id that nobody has, and a path that no service has",
  requests: 3,
  async ask({ prober }) {
    const record = await prober.send({ path: `/payment-gateways/${randomUUID()}` });
    const path = await prober.send({ path: "/no-such-path-of-a-probe" });
    const value = { record: describe(record), path: describe(path) };
    return { value, says: `record: ${value.record}; path: ${value.path}`, trials: 2 };
  },
};

function refusal(seen: Seen, by: string): Answer {
  return { value: describe(seen), says: `${seen.status} for ${by}: ${formOf(seen)}`, trials: 1 };
}

const tokenLifetime: Question = {
  id: "session.lifetime",
  asks: "How long does an access token last, and is it refused after that?",
  measuredBy: "expires_in of two logins; where that is within --patience, the token is used after its end",
  requests: 5,
  async ask({ prober }) {
    const [granted, other] = [await prober.logIn(), await prober.logIn()];
    await prober.logOut(other);
    const { lifetimeMs } = granted;
    try {
      if (lifetimeMs === undefined) return { value: null, says: "the response does not say", trials: 2 };
      const seconds = lifetimeMs / 1000;
      const ends =
        lifetimeMs >= prober.patienceMs ? null : await isRefusedAfter(prober, granted.accessToken, lifetimeMs);
      const end =
        ends === null ? "; it was not waited for" : ends ? ", and it is refused then" : ", and taken after that";
      return { value: { seconds, isRefusedThen: ends }, says: `${seconds} s${end}`, trials: 2 };
    } finally {
      await prober.logOut(granted);
    }
  },
};

async function isRefusedAfter(prober: Probe["prober"], token: string, ms: number): Promise<boolean> {
  await prober.pause(ms + 500);
  return (await prober.send({ path: "/payments", query: { _size: "1" }, token })).status === 401;
}

const rotation: Question = {
  id: "session.rotation",
  asks: "Does a refresh bring another refresh token, and is the old one refused then?",
  measuredBy: "a session of its own: a refresh, and another one with the first refresh token",
  requests: 4,
  async ask({ prober }) {
    const granted = await prober.logIn();
    const { refreshToken } = granted;
    if (refreshToken === undefined) return { value: "no refresh token", says: "there is no refresh token", trials: 1 };
    let newest = refreshToken;
    try {
      const first = await prober.refresh(refreshToken);
      if (!("granted" in first)) throw prober.tokenError(first.failure);
      newest = first.granted.refreshToken ?? refreshToken;
      const isRotated = newest !== refreshToken;
      const second = await prober.refresh(refreshToken);
      const spent = "granted" in second ? "taken" : second.failure.class === "refused" ? "refused" : undefined;
      if (spent === undefined) throw new NoAnswer("the second refresh had no response that says so");
      if ("granted" in second) newest = second.granted.refreshToken ?? newest;
      const says = `${isRotated ? "another one comes" : "the same one stays"}; the first one is ${spent} a second time`;
      return { value: { isRotated, spent }, says, trials: 1 };
    } finally {
      await prober.logOut({ refreshToken: newest });
    }
  },
};

const idleTime: Question = {
  id: "connections.idle",
  asks: "After which idle time does the service close a connection?",
  measuredBy: "one request on a connection of its own, which is then left alone for --patience",
  requests: 2,
  isChanged: (before, now) =>
    (before === null) !== (now === null) || Math.abs(Number(before) - Number(now)) > 2 + Number(before) / 4,
  async ask(probe) {
    const { ms, hint } = await idleUntilClosed(probe);
    const said = hint === undefined ? "" : ` (Keep-Alive says ${hint})`;
    if (ms === undefined) {
      return { value: null, says: `not within ${probe.prober.patienceMs / 1000} s${said}`, trials: 1 };
    }
    const seconds = Math.round(ms / 100) / 10;
    // A quarter less: the request has to be there before the close is sent.
    const settings = { connections: { keepAliveTimeout: Math.max(100, Math.floor(ms * 0.75)) } };
    return { value: seconds, says: `after ${seconds} s${said}`, trials: 1, settings };
  },
};

async function idleUntilClosed({ prober, connection }: Probe): Promise<{ ms: number | undefined; hint?: string }> {
  const { origin, path } = prober.baseUrl;
  const token = await prober.token();
  const url = new URL(origin);
  const socket = await openSocket(url, connection, { rejectUnauthorized: true });
  socket.setTimeout(0);
  let lastByteMs = clock.monotonicMs();
  let head = "";
  const closed = new Promise<number>((resolve) => {
    socket.on("data", (bytes: Buffer) => {
      lastByteMs = clock.monotonicMs();
      if (head.length < 4096) head += bytes.toString("latin1");
    });
    socket.on("error", () => {});
    for (const event of ["end", "close"]) socket.once(event, () => resolve(clock.monotonicMs() - lastByteMs));
  });
  prober.note("GET", `${path}/payments?_size=1`);
  socket.write(
    `GET ${path}/payments?_size=1 HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\nconnection: keep-alive\r\n\r\n`,
  );
  const deadline = new Deadline({ timeoutMs: prober.patienceMs, signal: prober.signal });
  try {
    const ms = await deadline.race(closed).catch((error: unknown) => {
      if (error instanceof Ended && error.kind === "timeout") return undefined;
      throw error;
    });
    if (head === "") throw new NoAnswer("the connection brought no response");
    const hint = /^keep-alive: *([\w=, ]{1,60})\r$/im.exec(head)?.[1];
    return { ms, ...(hint !== undefined && { hint }) };
  } finally {
    deadline.finish();
    socket.destroy();
  }
}

function partOf(value: Value, name: string): number {
  return Number(Object(value)[name]);
}

export const responseQuestions: readonly Question[] = [
  ...[caches, compression, latency, dates, form400, form401, form404],
  ...[tokenLifetime, rotation, idleTime],
];
