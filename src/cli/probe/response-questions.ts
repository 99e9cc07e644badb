import { randomUUID } from "node:crypto";
import { clock } from "../../core/clock.js";
import { Deadline, Ended } from "../../core/deadline.js";
import { openSocket } from "../doctor/network-checks.js";
import type { Answer } from "./answer.js";
import { betweenClocks, clocksOf, hasMoved, partOf, rangeOf } from "./clocks.js";
import { roundedUp } from "./list-questions.js";
import { NoAnswer } from "./no-answer.js";
import { type Probe, sampleCount } from "./probe.js";
import type { Seen } from "./prober.js";
import type { Question } from "./question.js";
import { describe, formOf, isCached, isRefused, settled, takenRows } from "./responses.js";

const caches: Question = {
  id: "caches",
  asks: "Does a cache stand on the way, and does it keep to no-cache?",
  measuredBy: "the same list three times, and then twice with no-cache: Age and X-Cache of the responses",
  requests: 6,
  async ask({ prober }) {
    const read = (cacheControl: string) =>
      prober.send({ path: "/payments", query: { _size: "3" }, headers: { "cache-control": cacheControl } });
    const plain = [await read("max-age=600")];
    // Until what a cache has kept has an age.
    await prober.pause(1100);
    plain.push(await read("max-age=600"), await read("max-age=600"));
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
    takenRows(seen);
    const coding = shortened(seen.headers["content-encoding"] ?? "none");
    // Servers leave short texts alone.
    if (coding === "none" && JSON.stringify(seen.json ?? "").length < 2048)
      throw new NoAnswer("the list is too short to tell");
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
  isChanged: (before, now) => partOf(before, "machines") !== partOf(now, "machines") || hasMoved(before, now),
  async ask(probe) {
    const samples = (await probe.samples()).filter((seen) => !isCached(seen));
    const clocks = clocksOf(
      samples.flatMap((seen) => {
        const dateMs = Date.parse(seen.headers.date ?? "");
        return Number.isNaN(dateMs) ? [] : rangeOf(seen, dateMs, dateMs + 1000 + staleDateMs);
      }),
    );
    if (clocks.length === 0)
      throw new NoAnswer(samples.length === 0 ? "a cache on the way gives earlier ones" : "responses have no Date");
    const [first = { fromMs: 0, toMs: 0 }] = clocks;
    const { aheadMs, apartMs } = betweenClocks(clocks);
    const held = clocks.find(({ toMs, count }) => count === 1 && toMs < first.fromMs);
    if (held !== undefined) {
      const ms = first.fromMs - held.toMs;
      throw new NoAnswer(
        `one Date of ${samples.length} was ${ms} ms too early: of a further clock, or of a response that was held up`,
      );
    }
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

/** A server may write a `Date` that it has made a moment before. */
const staleDateMs = 100;

const form400: Question = {
  id: "errors.400",
  asks: "What does a 400 look like?",
  measuredBy: "lists with values that can't be read: _size=x, _after and _sort without a meaning",
  requests: 4,
  async ask({ prober }) {
    const others: Seen[] = [];
    for (const query of [{ _size: "x" }, { _sort: "?" }, { _after: "?" }]) {
      const seen = await prober.send({ path: "/payments", query });
      if (isRefused(seen)) return refusal(seen, Object.keys(query).join());
      others.push(seen);
    }
    others.forEach(takenRows);
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
    const value = { missing: describe(settled(missing)), wrong: describe(settled(wrong)) };
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
    const value = { record: describe(settled(record)), path: describe(settled(path)) };
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
  const seen = await prober.send({ path: "/payments", query: { _size: "1" }, token });
  return seen.status === 401 || takenRows(seen) === undefined;
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
    const { ms, idleMs, hint } = await idleUntilClosed(probe);
    const said = hint === undefined ? "" : ` (Keep-Alive says ${hint})`;
    if (ms === undefined) {
      return { value: null, says: `not within ${Math.round(idleMs / 100) / 10} s${said}`, trials: 1 };
    }
    const seconds = Math.round(ms / 100) / 10;
    // A quarter less: the request has to be there before the close is sent.
    const settings = { connections: { keepAliveTimeout: Math.max(100, Math.floor(ms * 0.75)) } };
    return { value: seconds, says: `after ${seconds} s${said}`, trials: 1, settings };
  },
};

async function idleUntilClosed({ prober, connection }: Probe) {
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
    const idleMs = clock.monotonicMs() - lastByteMs;
    if (head === "") throw new NoAnswer("the connection brought no response");
    if (/^connection: *close\r$/im.test(head)) throw new NoAnswer("the response ended the connection");
    const hint = /^keep-alive: *([\w=, ]{1,60})\r$/im.exec(head)?.[1];
    return { ms, idleMs, hint };
  } finally {
    deadline.finish();
    socket.destroy();
  }
}

export const responseQuestions: readonly Question[] = [
  ...[caches, compression, latency, dates, form400, form401, form404],
  ...[tokenLifetime, rotation, idleTime],
];
