import type { Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { gzipSync } from "node:zlib";
import { passingRefusals, provingNothing } from "../http/statuses.js";
import { certificates } from "./certificates.js";
import type { FailureClass } from "./expectations.js";
import { type Exchange, type Play, wireResponse } from "./wire-fault-server.js";

/** One named way in which the wire or the service fails. */
export interface Fault {
  readonly name: string;
  /** What it looks like to the client. Several, where a race decides which. */
  readonly is: FailureClass | readonly FailureClass[];
  readonly play?: Play;
  /** Where it happens. Default: a server of its own over plain HTTP. */
  readonly place?: "closed port" | "deaf port" | "no address" | "no name server" | "slow connector";
  /** The client speaks https; the options are those of the server, where it speaks TLS at all. */
  readonly tls?: "client only" | (() => TlsOptions);
  /** The newest TLS version of the client. */
  readonly clientTlsVersion?: "TLSv1.2";
  readonly trusts?: "nobody else";
  /** Whole requests reach the server. Default: true. */
  readonly whole?: boolean;
  /** Status of the response, where the class needs one. */
  readonly status?: number;
  /** The call's deadline where neither of the usual ones fits, except for logins. */
  readonly timeoutMs?: number;
  /** A successful call uses the same connection first; `hurt`: the connection is damaged while it is idle. */
  readonly afterWell?: "hurt" | "whole";
  /** How long that connection is then idle. Default: not for long. */
  readonly idleMs?: number;
  /** The phase in which the call is ended. */
  readonly phase?: "token" | "signing" | "queue";
  /** How long after the stall the caller aborts. */
  readonly abortAfterMs?: number;
  /** It can't happen once only. */
  readonly always?: boolean;
}

/** Whether a call can succeed before the fault happens: only then there is a token to refresh. */
export function canBeWellBefore({ place, tls, play }: Fault): boolean {
  return place === undefined && (tls === undefined || (tls !== "client only" && play !== undefined));
}

/** The deadline of a call that is to reach its deadline, and of one that must not, however slow the machine is. */
export const shortDeadlineMs = 600;
export const longDeadlineMs = 6000;

/** Responses with more bytes are over the cap. The same as the client's own cap for token responses. */
export const capBytes = 2 ** 20;

type Cut = (socket: Socket) => void;
const reset: Cut = (socket) => void socket.resetAndDestroy();
const finish: Cut = (socket) => void socket.end();

/** Runs `work` once the other side has read what was written: at least one turn of the event loop later. */
function afterDelivery(work: () => void): void {
  setTimeout(() => setImmediate(() => setImmediate(work)), 20);
}

/** Writes the beginning of a response and then does the rest. */
function partly(text: (exchange: Exchange) => string | Buffer, then: Cut | "stall"): Play {
  return {
    atRequest: (exchange) => {
      exchange.socket.write(text(exchange));
      if (then === "stall") exchange.stalled();
      else afterDelivery(() => then(exchange.socket));
    },
  };
}

function says(text: (exchange: Exchange) => string | Buffer): Play {
  return { atRequest: (exchange) => exchange.socket.write(text(exchange)) };
}

function saysAndEnds(text: (exchange: Exchange) => string | Buffer): Play {
  return { atRequest: (exchange) => exchange.socket.end(text(exchange)) };
}

const statusLine = ({ told }: Exchange) => `HTTP/1.1 20${told.text}`;
const someHeaders = ({ told }: Exchange) => `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-told: ${told.text}`;
const partOf = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length + 100}\r\n\r\n${body.slice(0, -9)}`;
/** What tells whose record it is comes last, and is lost. */
const someBody = ({ rightBody }: Exchange) => partOf(rightBody);
/** It comes first. */
const someRecord = ({ rightBody }: Exchange) => partOf(identityFirst(rightBody));

/** The same JSON, with what tells whose record it is before everything else. */
function identityFirst(body: string): string {
  const { id, senderGatewayTransactionId, ...rest } = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify({ id, senderGatewayTransactionId, ...rest, last: "of all" });
}

const points: readonly {
  readonly at: string;
  readonly cut: Fault["is"];
  readonly stall: FailureClass;
  readonly whole: boolean;
  play(then: Cut | "stall"): Play;
}[] = [
  {
    at: "at accept",
    // Whether the client has begun to write by then is a race.
    cut: ["unsent", "maybe sent"],
    stall: "deadline sent",
    whole: false,
    play: (then) => ({ atAccept: (socket, stalled) => (then === "stall" ? stalled() : then(socket)) }),
  },
  {
    at: "after the first bytes",
    cut: "maybe sent",
    stall: "deadline sent",
    whole: false,
    play: (then) => ({ atFirstBytes: (socket, stalled) => (then === "stall" ? stalled() : then(socket)) }),
  },
  {
    at: "after the whole request",
    cut: "maybe sent",
    stall: "deadline sent",
    whole: true,
    play: (then) => partly(() => "", then),
  },
  {
    at: "inside the status line",
    cut: "maybe sent",
    stall: "deadline sent",
    whole: true,
    play: (then) => partly(statusLine, then),
  },
  {
    at: "inside the headers",
    cut: "maybe sent",
    stall: "deadline sent",
    whole: true,
    play: (then) => partly(someHeaders, then),
  },
  {
    at: "inside the body",
    cut: "not the record, broken off",
    stall: "deadline reading",
    whole: true,
    play: (then) => partly(someBody, then),
  },
  {
    at: "inside the record",
    cut: "not the record, broken off",
    stall: "deadline reading",
    whole: true,
    play: (then) => partly(someRecord, then),
  },
];

const cuts: readonly Fault[] = points.flatMap(({ at, cut, stall, whole, play }) => [
  { name: `RST ${at}`, is: cut, whole, play: play(reset) },
  { name: `FIN ${at}`, is: cut, whole, play: play(finish) },
  { name: `stall ${at}`, is: stall, whole, play: play("stall") },
]);

const goodTls = () => ({ ...certificates().good });

const connecting: readonly Fault[] = [
  { name: "refused", is: "unsent", place: "closed port", whole: false, always: true },
  {
    name: "DNS: no such host",
    is: "unknown host",
    place: "no address",
    tls: "client only",
    whole: false,
    always: true,
  },
  { name: "DNS: no response", is: "unsent", place: "no name server", tls: "client only", whole: false, always: true },
  { name: "connect timeout", is: "unsent", place: "slow connector", whole: false, always: true },
  { name: "SYN dropped", is: "deadline unsent", place: "deaf port", whole: false, always: true },
  {
    name: "TLS stall",
    is: "deadline unsent",
    tls: goodTls,
    whole: false,
    play: { atAccept: (_, stalled) => stalled() },
  },
  {
    name: "TLS handshake reset",
    is: "unsent",
    tls: goodTls,
    whole: false,
    play: { atAccept: (socket) => socket.once("data", () => reset(socket)) },
  },
  {
    name: "TLS handshake ended",
    is: "unsent",
    tls: goodTls,
    whole: false,
    play: { atAccept: (socket) => socket.once("data", () => finish(socket)) },
  },
  {
    name: "certificate by nobody",
    is: "unsent for good",
    tls: () => ({ ...certificates().selfSigned }),
    trusts: "nobody else",
    whole: false,
    always: true,
  },
  {
    name: "certificate by an authority that is not trusted",
    is: "unsent for good",
    tls: goodTls,
    trusts: "nobody else",
    whole: false,
    always: true,
  },
  {
    name: "certificate of another host",
    is: "unsent for good",
    tls: () => ({ ...certificates().wrongHost }),
    whole: false,
    always: true,
  },
  {
    name: "certificate out of date",
    is: "unsent for good",
    tls: () => ({ ...certificates().expired }),
    whole: false,
    always: true,
  },
  {
    name: "TLS version that is not spoken",
    is: "unsent for good",
    tls: () => ({ ...certificates().good, minVersion: "TLSv1.3" }),
    clientTlsVersion: "TLSv1.2",
    whole: false,
    always: true,
  },
  {
    name: "plain HTTP on a TLS port",
    is: "unsent for good",
    tls: "client only",
    whole: false,
    always: true,
    play: {
      atAccept: (socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
    },
  },
  {
    name: "TLS on a plain HTTP port",
    is: "maybe sent",
    whole: false,
    // The fatal alert "unexpected message".
    play: { atFirstBytes: (socket) => socket.end(Buffer.of(21, 3, 3, 0, 2, 2, 10)) },
  },
];

const stale: readonly Fault[] = [
  {
    name: "stale keep-alive: FIN while idle",
    is: "well",
    afterWell: "hurt",
    play: afterFirst(finish),
  },
  {
    name: "stale keep-alive: RST while idle",
    is: "well",
    afterWell: "hurt",
    play: afterFirst(reset),
  },
  {
    name: "stale keep-alive: a stray response while idle",
    is: "well",
    afterWell: "hurt",
    play: afterFirst((socket) => void socket.write(wireResponse(500, "{}"))),
  },
  {
    name: "stale keep-alive: FIN as the request comes",
    is: "maybe sent, then well",
    afterWell: "whole",
    play: onSecond(({ socket }) => finish(socket)),
  },
  {
    name: "stale keep-alive: RST as the request comes",
    is: "maybe sent, then well",
    afterWell: "whole",
    play: onSecond(({ socket }) => reset(socket)),
  },
  {
    name: "stale keep-alive: RST as the request comes, after half a second",
    is: "maybe sent where it is a read, then well",
    afterWell: "whole",
    idleMs: 550,
    play: onSecond(({ socket }) => reset(socket)),
  },
  {
    name: "stale keep-alive: silence as the request comes",
    is: "deadline sent",
    afterWell: "whole",
    play: onSecond(({ stalled }) => stalled()),
  },
].map((fault) => ({ ...fault, always: true }) as Fault);

/** Every request is served well, and something happens to the first connection once it is idle. */
function afterFirst(then: Cut): Play {
  return {
    atRequest: ({ socket, number, rightBody, stalled }) => {
      socket.write(wireResponse(200, rightBody));
      if (number > 1) return;
      afterDelivery(() => {
        then(socket);
        stalled();
      });
    },
  };
}

/** The first request of a connection is served well, and the second one meets the fault. */
function onSecond(then: (exchange: Exchange) => void): Play {
  return {
    atRequest: (exchange) => {
      if (exchange.numberOnConnection === 1) return false;
      then(exchange);
      return true;
    },
  };
}

function chunked(...chunks: readonly string[]): string {
  const parts = chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`);
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${parts.join("")}`;
}

function every(ms: number, socket: Socket, work: (count: number) => void): void {
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    if (socket.destroyed) clearInterval(timer);
    else work(count);
  }, ms);
}

const pace: readonly Fault[] = [
  {
    name: "slow drip that comes to its end",
    is: "well",
    play: {
      atRequest: ({ socket, rightBody }) => {
        const bytes = wireResponse(200, rightBody);
        const step = Math.ceil(bytes.length / 30);
        every(5, socket, (count) => socket.write(bytes.subarray((count - 1) * step, count * step)));
      },
    },
  },
  {
    name: "slow drip of headers without end",
    is: "deadline sent",
    play: {
      atRequest: ({ socket, stalled }) => {
        socket.write("HTTP/1.1 200 OK\r\nx-a: ");
        every(5, socket, () => socket.write("a"));
        stalled();
      },
    },
  },
  {
    name: "slow drip of a body without end",
    is: "deadline reading",
    play: {
      atRequest: ({ socket, stalled }) => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{"id":"\r\n');
        every(5, socket, () => socket.write("1\r\na\r\n"));
        stalled();
      },
    },
  },
  {
    name: "flood of 1xx without end",
    is: "deadline sent",
    play: {
      atRequest: ({ socket, told, stalled }) => {
        every(2, socket, () => socket.write(`HTTP/1.1 102 Processing\r\nx-told: ${told.text}\r\n\r\n`));
        stalled();
      },
    },
  },
  {
    name: "flood of 1xx, then the response",
    is: "well",
    play: says(
      ({ rightBody }) => "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(500) + wireResponse(200, rightBody),
    ),
  },
];

const protocol: readonly Fault[] = [
  // undici treats an unrequested 100 as a broken response. That is safe: nothing is repeated, and nothing is reported as not done.
  {
    name: "100 Continue that was not asked for",
    is: "maybe sent",
    play: says(({ rightBody }) => `HTTP/1.1 100 Continue\r\n\r\n${wireResponse(200, rightBody)}`),
  },
  {
    name: "101 Switching Protocols",
    is: "maybe sent",
    play: says(() => "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
  },
  {
    name: "garbage",
    is: "maybe sent",
    play: saysAndEnds(({ told }) => `SSH-2.0-OpenSSH_9.6 ${told.text}\r\n`),
  },
  {
    name: "HTTP/2 without being asked",
    is: "maybe sent",
    play: saysAndEnds(() => Buffer.from("000012040000000000000300000064000400100000000600004000", "hex")),
  },
  {
    name: "a body without a head",
    is: "maybe sent",
    play: saysAndEnds(({ rightBody }) => rightBody),
  },
  {
    name: "headers without a colon",
    is: "maybe sent",
    play: says(({ rightBody, told }) => `HTTP/1.1 200 OK\r\nnonsense ${told.text}\r\n\r\n${rightBody}`),
  },
  {
    name: "huge headers",
    is: "maybe sent",
    play: says(({ rightBody }) => wireResponse(200, rightBody, `x-a: ${"a".repeat(40_000)}\r\n`)),
  },
  {
    name: "two content lengths",
    is: "maybe sent",
    play: saysAndEnds(() => "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n1"),
  },
  {
    name: "a content length and chunks",
    is: "maybe sent",
    play: saysAndEnds(
      () => "HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ),
  },
  {
    name: "two responses to one request",
    is: "well",
    play: says(({ rightBody }) => Buffer.concat([wireResponse(200, rightBody), wireResponse(500, "{}")])),
  },
];

const bodies: readonly Fault[] = [
  {
    name: "chunks that break off",
    is: "not the record, broken off",
    play: saysAndEnds(({ rightBody }) => `${chunked(rightBody.slice(0, 20))}40\r\n${rightBody.slice(20, 30)}`),
  },
  {
    name: "chunks without the last one",
    is: "not the record, broken off",
    play: saysAndEnds(({ rightBody }) => chunked(rightBody)),
  },
  {
    name: "a chunk of no size",
    is: "not the record, broken off",
    play: saysAndEnds(({ rightBody }) => `${chunked(rightBody.slice(0, 20))}zz\r\n${rightBody.slice(20)}`),
  },
  {
    name: "a body up to the close, whole",
    is: "well",
    play: saysAndEnds(({ rightBody }) => `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n${rightBody}`),
  },
  {
    name: "a body up to the close, cut short",
    is: "not the record",
    play: saysAndEnds(
      ({ rightBody }) => `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n${rightBody.slice(0, -9)}`,
    ),
  },
  // undici treats a reset as the close that ends such a body; only the JSON tells whether all of it arrived.
  {
    name: "a body up to the close, whole and reset",
    is: "well",
    play: partly(({ rightBody }) => `HTTP/1.1 200 OK\r\n\r\n${rightBody}`, reset),
  },
  {
    name: "a body up to the close, cut short and reset",
    is: "not the record",
    play: partly(({ rightBody }) => `HTTP/1.1 200 OK\r\n\r\n${rightBody.slice(0, -9)}`, reset),
  },
  {
    name: "a content length that is too small",
    is: "not the record",
    play: says(({ rightBody }) => `HTTP/1.1 200 OK\r\ncontent-length: ${rightBody.length - 9}\r\n\r\n${rightBody}`),
  },
  {
    name: "a body over the cap",
    is: "body over the cap",
    play: says(({ told }) => wireResponse(200, JSON.stringify({ id: told.text, memo: "m".repeat(capBytes) }))),
  },
  {
    name: "chunks over the cap",
    is: "body over the cap",
    play: says(({ told }) => chunked(told.text || "{", ...Array.from({ length: 20 }, () => "m".repeat(60_000)))),
  },
  {
    name: "gzip although none was asked for",
    is: "well",
    play: says(({ rightBody }) => wireResponse(200, gzipSync(rightBody), "content-encoding: gzip\r\n")),
  },
  {
    name: "gzip without its end",
    is: "not the record, broken off",
    play: says(({ rightBody }) => wireResponse(200, gzipSync(rightBody).subarray(0, 20), "content-encoding: gzip\r\n")),
  },
  {
    name: "gzip that is none",
    is: "not the record",
    play: says(({ told }) => wireResponse(200, `{"id":"${told.word}"}`, "content-encoding: gzip\r\n")),
  },
  {
    name: "a content coding that nobody knows",
    is: "not the record",
    play: says(({ rightBody }) => wireResponse(200, rightBody, "content-encoding: x-unknown\r\n")),
  },
  {
    name: "gzip that comes to more than the cap",
    is: "body over the cap",
    play: says(() =>
      wireResponse(200, gzipSync(`{"memo":"${"m".repeat(4 * capBytes)}"}`), "content-encoding: gzip\r\n"),
    ),
  },
  {
    name: "a page instead of JSON",
    is: "a page",
    play: says(({ told }) => wireResponse(200, `<html>${told.text}</html>`, "content-type: text/html\r\n")),
  },
  {
    name: "JSON of the wrong content type",
    is: "well",
    play: says(({ rightBody }) => wireResponse(200, rightBody, "content-type: text/html\r\n")),
  },
  {
    name: "invalid UTF-8",
    is: "not the record",
    play: says(({ rightBody }) =>
      wireResponse(200, Buffer.from(rightBody.replace("{", '{"name":"M\xfcller",'), "latin1")),
    ),
  },
  {
    name: "UTF-16",
    is: "not the record",
    play: says(({ rightBody }) => wireResponse(200, Buffer.from(`\ufeff${rightBody}`, "utf16le"))),
  },
  {
    name: "a byte order mark",
    is: "well",
    play: says(({ rightBody }) => wireResponse(200, `\ufeff${rightBody}`)),
  },
  {
    name: "deep nesting beside the fields",
    is: "not the record, but all of a token",
    play: says(({ rightBody }) =>
      wireResponse(200, rightBody.replace("{", `{"deep":${"[".repeat(50_000)}${"]".repeat(50_000)},`)),
    ),
  },
  {
    name: "deep nesting instead of a record",
    is: "not the record",
    play: says(() => wireResponse(200, "[".repeat(50_000) + "]".repeat(50_000))),
  },
  {
    name: "deep nesting without end",
    is: "not the record",
    play: says(() => wireResponse(200, '{"a":'.repeat(50_000))),
  },
  {
    name: "duplicate keys",
    is: "well",
    play: says(({ rightBody }) => wireResponse(200, rightBody.replace("{", '{"id":"first","access_token":"first",'))),
  },
  {
    name: "__proto__ as a key",
    is: "well",
    play: says(({ rightBody }) =>
      wireResponse(
        200,
        rightBody.replace("{", '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},'),
      ),
    ),
  },
  { name: "an empty body", is: "not the record", play: says(() => wireResponse(200, "")) },
  { name: "null", is: "not the record", play: says(() => wireResponse(200, "null")) },
  { name: "an empty object", is: "not the record", play: says(() => wireResponse(200, "{}")) },
  {
    name: "a maintenance notice",
    is: "not the record",
    // Whatever a 2xx to an update contains, the update is done.
    play: { ...says(() => wireResponse(200, '{"status":"maintenance"}')), commits: ({ method }) => method === "PUT" },
  },
  {
    name: "the record in an array",
    is: "not the record",
    play: says(({ rightBody }) => wireResponse(200, `[${rightBody}]`)),
  },
  {
    name: "the record in an object",
    is: "not the record",
    play: says(({ rightBody }) => wireResponse(200, `{"data":${rightBody}}`)),
  },
  ...["null", '""', "{}", "[1]", "true"].map(
    (id): Fault => ({
      name: `a record whose id is ${id}`,
      is: "not the record, but all of a token",
      play: says(({ rightBody }) => wireResponse(200, `${rightBody.slice(0, -1)},"id":${id}}`)),
    }),
  ),
  {
    name: "another payment",
    is: "another payment",
    play: {
      ...says(({ rightBody }) => wireResponse(200, strangersBody(rightBody))),
      commits: ({ target }) => target !== "/payments",
    },
  },
  {
    name: "the payment's own request",
    is: "another payment",
    play: {
      ...says(({ request: { target, body }, rightBody }) =>
        wireResponse(200, target === "/payments" ? body : rightBody),
      ),
      commits: ({ target }) => target !== "/payments",
    },
  },
  {
    name: "a page before anything was done",
    is: "a page",
    play: { ...says(({ told }) => wireResponse(200, `<!DOCTYPE html>${told.text}`)), commits: false },
  },
  {
    name: "a page that breaks off",
    is: "a page, broken off",
    play: partly(({ told }) => `HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n<html>${told.text}`, reset),
  },
  {
    name: "a record over the cap",
    is: "body over the cap",
    play: says(({ rightBody }) => wireResponse(200, `${identityFirst(rightBody)}${" ".repeat(capBytes)}`)),
  },
  {
    name: "text in JSON",
    is: "not the record",
    play: says(({ told }) => wireResponse(200, JSON.stringify(told.text))),
  },
];

/** The record of another payment, as a socket that is out of step brings it. */
function strangersBody(body: string): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), senderGatewayTransactionId: "transaction-0" });
}

/** What a service sends with a status: everything that it knows, in both forms of error bodies and for both servers. */
function errorBody({ told }: Exchange, status: number): string {
  const said = `status ${status}: ${told.text}`;
  return JSON.stringify({
    error: told.word || "invalid_grant",
    code: told.word,
    message: said,
    error_description: said,
  });
}

function responses(status: number, headers: () => string = () => ""): Play {
  const tells = (exchange: Exchange) =>
    exchange.told.text === "" ? "" : `x-request-id: ${exchange.told.word}\r\nx-told: ${exchange.told.text}\r\n`;
  return {
    commits: !refusals.has(status),
    atRequest: (exchange) =>
      exchange.socket.write(
        wireResponse(
          status,
          status === 304 ? "" : errorBody(exchange, status),
          headers() + tells(exchange),
          exchange.told.text || "Said",
        ),
      ),
  };
}

/** Statuses that mean with certainty that nothing was done. */
const refusals: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 405, 410, 413, 415, 418, 422, 429, 451]);

const plainStatuses: readonly (readonly [FailureClass, readonly number[]])[] = [
  ["refused", [400, 402, 403, 404, 405, 410, 413, 415, 418, 422, 451]],
  ["refused by another", provingNothing.filter((status) => status !== 409)],
  ["unauthorized", [401]],
  ["conflict", [409]],
  ["failing", [...passingRefusals, 500, 501, 502, 503, 504, 599, 999]],
  ["throttled", [429]],
];

/** Pages with a 4xx that say more than that somebody blocks the request. */
const pages: ReadonlyMap<number, FailureClass> = new Map([
  ...provingNothing.map((status) => [status, "refused by another"] as const),
  [404, "not there, says another"],
  [409, "conflict"],
]);

/** Bodies of a 4xx that is not the service's. */
const anothers = {
  "a page": ({ told }: Exchange) => `<html>${told.text}</html>`,
  nothing: () => "",
  "somebody else's JSON": ({ told }: Exchange) => JSON.stringify({ message: told.text }),
};

const statuses: readonly Fault[] = [
  ...plainStatuses.flatMap(([is, all]) =>
    all.map((status) => ({ name: `status ${status}`, is, status, play: responses(status) })),
  ),
  ...[300, 301, 302, 303, 304, 307, 308].map(
    (status): Fault => ({
      name: `redirect ${status}`,
      is: "redirect",
      status,
      play: responses(status, () => "location: /elsewhere\r\n"),
    }),
  ),
  // What a proxy, a firewall or a gateway says in place of the service, which has done its work by then.
  ...[400, 403, 404, 407, 422, ...provingNothing].map(
    (status): Fault => ({
      name: `status ${status} as a page`,
      is: pages.get(status) ?? "blocked",
      status,
      play: says((exchange) => wireResponse(status, anothers["a page"](exchange))),
    }),
  ),
  ...(["nothing", "somebody else's JSON"] as const).map(
    (form): Fault => ({
      name: `status 403 as ${form}`,
      is: "blocked",
      status: 403,
      play: says((exchange) => wireResponse(403, anothers[form](exchange))),
    }),
  ),
  ...Object.entries(anothers).flatMap(([form, body]): Fault[] => [
    {
      name: `status 429 as ${form}`,
      is: "throttled by another",
      status: 429,
      play: says((exchange) => wireResponse(429, body(exchange))),
    },
    {
      name: `status 401 as ${form}`,
      is: "unauthorized",
      status: 401,
      play: { ...says((exchange) => wireResponse(401, body(exchange))), commits: false },
    },
  ]),
  ...[201, 202, 203, 206, 226].map(
    (status): Fault => ({
      name: `status ${status}`,
      is: "another success",
      play: says(({ rightBody }) => wireResponse(status, rightBody)),
    }),
  ),
  { name: "status 204", is: "not the record", play: says(() => "HTTP/1.1 204 No Content\r\n\r\n") },
  {
    name: "status 502 as a page",
    is: "failing",
    status: 502,
    play: says(({ told }) => wireResponse(502, `<html>${told.text}</html>`, "content-type: text/html\r\n")),
  },
  {
    name: "status 400 whose body breaks off",
    is: "blocked",
    status: 400,
    play: {
      ...partly(
        ({ told }) => `HTTP/1.1 400 Bad Request\r\ncontent-length: 5000\r\n\r\n{"message":"${told.text}`,
        reset,
      ),
    },
  },
  {
    name: "status 400 over the cap",
    is: "blocked",
    status: 400,
    play: {
      ...says(({ told }) => wireResponse(400, `{"message":"${told.text}"}${" ".repeat(capBytes)}`)),
    },
  },
  {
    name: "status 500 whose body breaks off",
    is: "failing",
    status: 500,
    play: partly(() => "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 5000\r\n\r\n{", reset),
  },
];

const inTenSeconds = () => new Date(Date.now() + 10_000).toUTCString();

/** `Retry-After` in all its forms, and how the wait compares with the call's deadline. */
const retryAfters: readonly { readonly form: string; value(): string; readonly wait: "none" | "of 1 s" | "long" }[] = [
  { form: "0 s", value: () => "0", wait: "none" },
  { form: "1 s", value: () => "1", wait: "of 1 s" },
  { form: "10 s", value: () => "10", wait: "long" },
  { form: "a date to come", value: inTenSeconds, wait: "long" },
  { form: "a date long past", value: () => "Sun, 06 Nov 1994 08:49:37 GMT", wait: "none" },
  { form: "a negative number", value: () => "-5", wait: "none" },
  { form: "an absurd number", value: () => "9".repeat(30), wait: "long" },
  { form: "an absurd date", value: () => "Fri, 31 Dec 9999 23:59:59 GMT", wait: "long" },
  { form: "nonsense", value: () => "soon", wait: "none" },
];

const waits: readonly Fault[] = [
  ...([429, 500, 503, 408] as const).flatMap((status) =>
    retryAfters.map(({ form, value, wait }): Fault => {
      const base = status === 429 ? "throttled" : "failing";
      return {
        name: `status ${status} with Retry-After: ${form}`,
        is: wait === "none" ? base : wait === "long" ? `${base}, long wait` : `${base}, wait of 1 s`,
        status,
        play: responses(status, () => `retry-after: ${value()}\r\n`),
        // Time for one wait and not for two, and as much as there is for what goes on meanwhile.
        ...(wait === "of 1 s" ? { timeoutMs: 1950 } : undefined),
      };
    }),
  ),
  ...plainStatuses
    .filter(([is]) => is === "refused" || is === "unauthorized")
    .flatMap(([is, all]) =>
      all.map(
        (status): Fault => ({
          name: `status ${status} with Retry-After: 0 s`,
          is,
          status,
          play: responses(status, () => "retry-after: 0\r\n"),
        }),
      ),
    ),
  {
    name: "status 409 with Retry-After: 10 s",
    is: "conflict, long wait",
    status: 409,
    play: responses(409, () => "retry-after: 10\r\n"),
  },
  {
    name: "redirect 301 with Retry-After: 0 s",
    is: "redirect",
    status: 301,
    play: responses(301, () => "retry-after: 0\r\nlocation: /elsewhere\r\n"),
  },
];

const stallsAtRequest: Play = { atRequest: ({ stalled }) => stalled() };

/** The call is ended in each of its phases, by its deadline and by its caller. */
const phases: readonly Fault[] = [
  ...(["token", "signing", "queue"] as const).flatMap((phase): Fault[] => {
    const play = phase === "signing" ? undefined : stallsAtRequest;
    const rest = { phase, always: true, whole: false, ...(play === undefined ? undefined : { play }) };
    const where = phase === "signing" ? (" where it is signed" as const) : ("" as const);
    return [
      { name: `deadline in the phase: ${phase}`, is: `deadline unsent${where}`, ...rest },
      // In the queue the stall begins before the call; the others wait until the call reaches it.
      {
        name: `abort in the phase: ${phase}`,
        is: `abort unsent${where}`,
        abortAfterMs: phase === "queue" ? 100 : 30,
        ...rest,
      },
    ];
  }),
  {
    name: "deadline in the phase: connect",
    is: "deadline unsent",
    tls: goodTls,
    whole: false,
    always: true,
    play: { atAccept: (_, stalled) => stalled() },
  },
  {
    name: "abort in the phase: connect",
    is: "abort unsent",
    tls: goodTls,
    whole: false,
    always: true,
    abortAfterMs: 30,
    play: { atAccept: (_, stalled) => stalled() },
  },
  { name: "deadline in the phase: sent", is: "deadline sent", always: true, play: stallsAtRequest },
  { name: "abort in the phase: sent", is: "abort sent", always: true, abortAfterMs: 30, play: stallsAtRequest },
  { name: "deadline in the phase: body", is: "deadline reading", always: true, play: partly(someBody, "stall") },
  {
    name: "abort in the phase: body",
    is: "abort reading",
    always: true,
    abortAfterMs: 100,
    play: partly(someBody, "stall"),
  },
];

/** Every fault that the client is tested with. */
export const faults: readonly Fault[] = [
  ...connecting,
  ...cuts,
  ...stale,
  ...pace,
  ...protocol,
  ...bodies,
  ...statuses,
  ...waits,
  ...phases,
];
