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
  readonly place?: "closed port" | "no address" | "no name server" | "slow connector";
  /** The client speaks https; the options are those of the server, where it speaks TLS at all. */
  readonly tls?: "client only" | (() => TlsOptions);
  /** The newest TLS version of the client. */
  readonly clientTlsVersion?: "TLSv1.2";
  readonly trusts?: "nobody else";
  /** Whole requests reach the server. Default: true. */
  readonly whole?: boolean;
  /** Status of the response, where the class needs one. */
  readonly status?: number;
  /** A successful call uses the same connection first; `hurt`: the connection is damaged while it is idle. */
  readonly afterWell?: "hurt" | "whole";
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

const statusLine = () => "HTTP/1.1 20";
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

type Point = readonly [
  at: string,
  cut: Fault["is"],
  stall: FailureClass,
  whole: boolean,
  play: (then: Cut | "stall") => Play,
];

const points: readonly Point[] = [
  [
    "at accept",
    // Whether the client has begun to write by then is a race.
    ["unsent", "maybe sent"],
    "deadline sent",
    false,
    (then) => ({ atAccept: (socket, stalled) => (then === "stall" ? stalled() : then(socket)) }),
  ],
  [
    "after the first bytes",
    "maybe sent",
    "deadline sent",
    false,
    (then) => ({ atFirstBytes: (socket, stalled) => (then === "stall" ? stalled() : then(socket)) }),
  ],
  ["after the whole request", "maybe sent", "deadline sent", true, (then) => partly(() => "", then)],
  ["inside the status line", "maybe sent", "deadline sent", true, (then) => partly(statusLine, then)],
  ["inside the headers", "maybe sent", "deadline sent", true, (then) => partly(someHeaders, then)],
  ["inside the body", "not the record, broken off", "deadline reading", true, (then) => partly(someBody, then)],
  ["inside the record", "not the record, broken off", "deadline reading", true, (then) => partly(someRecord, then)],
];

const cuts: readonly Fault[] = points.flatMap(([at, cut, stall, whole, play]) => [
  { name: `RST ${at}`, is: cut, whole, play: play(reset) },
  { name: `FIN ${at}`, is: cut, whole, play: play(finish) },
  { name: `stall ${at}`, is: stall, whole, play: play("stall") },
]);

type Row = readonly [name: string, is: Fault["is"], more: Omit<Fault, "name" | "is">];
const faultsOf = (rows: readonly Row[], all: Partial<Fault> = {}): readonly Fault[] =>
  rows.map(([name, is, more]) => ({ name, is, ...all, ...more }));

type CertificateName = Exclude<keyof ReturnType<typeof certificates>, "authority">;
const tlsOf = (name: CertificateName) => () => ({ ...certificates()[name] });

const connecting: readonly Fault[] = [
  ...faultsOf(
    [
      ["refused", "unsent", { place: "closed port" }],
      ["DNS: no such host", "unknown host", { place: "no address", tls: "client only" }],
      ["DNS: no response", "unsent", { place: "no name server", tls: "client only" }],
      ["connect timeout", "unsent", { place: "slow connector" }],
      ["certificate by nobody", "unsent for good", { tls: tlsOf("selfSigned"), trusts: "nobody else" }],
      ["certificate of another host", "unsent for good", { tls: tlsOf("wrongHost") }],
      ["certificate out of date", "unsent for good", { tls: tlsOf("expired") }],
      [
        "TLS version that is not spoken",
        "unsent for good",
        { tls: () => ({ ...certificates().good, minVersion: "TLSv1.3" }), clientTlsVersion: "TLSv1.2" },
      ],
      [
        "plain HTTP on a TLS port",
        "unsent for good",
        {
          tls: "client only",
          play: { atAccept: (socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")) },
        },
      ],
    ],
    { whole: false, always: true },
  ),
  ...faultsOf(
    [
      ["TLS stall", "deadline unsent", { tls: tlsOf("good"), play: { atAccept: (_, stalled) => stalled() } }],
      [
        "TLS handshake reset",
        "unsent",
        { tls: tlsOf("good"), play: { atAccept: (socket) => socket.once("data", () => reset(socket)) } },
      ],
      [
        "TLS on a plain HTTP port",
        "maybe sent",
        // The fatal alert "unexpected message".
        { play: { atFirstBytes: (socket) => socket.end(Buffer.of(21, 3, 3, 0, 2, 2, 10)) } },
      ],
    ],
    { whole: false },
  ),
];

const stale: readonly Fault[] = [
  ...faultsOf(
    [
      ["FIN while idle", "well", { play: afterFirst(finish) }],
      ["RST while idle", "well", { play: afterFirst(reset) }],
      [
        "a stray response while idle",
        "well",
        { play: afterFirst((socket) => void socket.write(wireResponse(500, "{}"))) },
      ],
    ],
    { always: true, afterWell: "hurt" },
  ),
  ...faultsOf(
    [
      ["FIN as the request comes", "maybe sent, then well", { play: onSecond(({ socket }) => finish(socket)) }],
      ["RST as the request comes", "maybe sent, then well", { play: onSecond(({ socket }) => reset(socket)) }],
      ["silence as the request comes", "deadline sent", { play: onSecond(({ stalled }) => stalled()) }],
    ],
    { always: true, afterWell: "whole" },
  ),
].map((fault) => ({ ...fault, name: `stale keep-alive: ${fault.name}` }));

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

const pace = faultsOf([
  [
    "slow drip of a body without end",
    "deadline reading",
    { play: drips('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{"id":"\r\n', () => "1\r\na\r\n") },
  ],
  [
    "flood of 1xx without end",
    "deadline sent",
    { play: drips("", ({ told }) => `HTTP/1.1 102 Processing\r\nx-told: ${told.text}\r\n\r\n`) },
  ],
]);

/** Writes the beginning of a response, and then more of it without end. */
function drips(start: string, more: (exchange: Exchange) => string): Play {
  return {
    atRequest: (exchange) => {
      exchange.socket.write(start);
      every(3, exchange.socket, () => exchange.socket.write(more(exchange)));
      exchange.stalled();
    },
  };
}

const protocol = faultsOf([
  // undici treats an unrequested 100 as a broken response. That is safe: nothing is repeated, and nothing is reported as not done.
  [
    "100 Continue that was not asked for",
    "maybe sent",
    { play: says(({ rightBody }) => `HTTP/1.1 100 Continue\r\n\r\n${wireResponse(200, rightBody)}`) },
  ],
  ["garbage", "maybe sent", { play: saysAndEnds(({ told }) => `SSH-2.0-OpenSSH_9.6 ${told.text}\r\n`) }],
]);

const untilClose = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
const gzipped = "content-encoding: gzip\r\n";
/** Only a payment's response tells whose it is. */
const exceptPayments = { commits: ({ target }: { readonly target: string }) => target !== "/payments" };

const bodies = faultsOf([
  [
    "chunks that break off",
    "not the record, broken off",
    { play: saysAndEnds(({ rightBody }) => `${chunked(rightBody.slice(0, 20))}40\r\n${rightBody.slice(20, 30)}`) },
  ],
  // undici treats a reset as the close that ends such a body; only the JSON tells whether all of it arrived.
  ["a body up to the close, whole", "well", { play: partly(({ rightBody }) => `${untilClose}${rightBody}`, reset) }],
  [
    "a body up to the close, cut short",
    "not the record",
    { play: partly(({ rightBody }) => `${untilClose}${rightBody.slice(0, -9)}`, reset) },
  ],
  [
    "a content length that is too small",
    "not the record",
    { play: says(({ rightBody }) => `HTTP/1.1 200 OK\r\ncontent-length: ${rightBody.length - 9}\r\n\r\n${rightBody}`) },
  ],
  [
    "a record over the cap",
    "body over the cap",
    { play: says(({ rightBody }) => wireResponse(200, `${identityFirst(rightBody)}${" ".repeat(capBytes)}`)) },
  ],
  [
    "gzip without its end",
    "not the record, broken off",
    { play: says(({ rightBody }) => wireResponse(200, gzipSync(rightBody).subarray(0, 20), gzipped)) },
  ],
  [
    "gzip that is none",
    "not the record",
    { play: says(({ told }) => wireResponse(200, `{"id":"${told.word}"}`, gzipped)) },
  ],
  [
    "a page instead of JSON",
    "a page",
    { play: says(({ told }) => wireResponse(200, `<html>${told.text}</html>`, "content-type: text/html\r\n")) },
  ],
  [
    "invalid UTF-8",
    "not the record",
    {
      play: says(({ rightBody }) =>
        wireResponse(200, Buffer.from(rightBody.replace("{", '{"name":"M\xfcller",'), "latin1")),
      ),
    },
  ],
  ["an empty body", "not the record", { play: says(() => wireResponse(200, "")) }],
  [
    "another payment",
    "another payment",
    { play: { ...says(({ rightBody }) => wireResponse(200, strangersBody(rightBody))), ...exceptPayments } },
  ],
]);

/** The record of another payment, as a socket that is out of step brings it. */
function strangersBody(body: string): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), senderGatewayTransactionId: "transaction-0" });
}

/** What a service sends with a status: everything that it knows, in both forms of error bodies and for both servers. */
function errorBody({ told, request }: Exchange, status: number): string {
  const said = `status ${status}: ${told.text}`;
  return JSON.stringify({
    error: request.target.endsWith("/token") ? "invalid_grant" : told.word,
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
const refusals: ReadonlySet<number> = new Set([400, 401, 403, 404, 422, 429]);

const plainStatuses: readonly (readonly [FailureClass, readonly number[]])[] = [
  ["refused", [400, 403, 404, 422]],
  ["refused by another", provingNothing.filter((status) => status !== 409)],
  ["unauthorized", [401]],
  ["conflict", [409]],
  ["failing", [...passingRefusals, 500, 502, 503, 999]],
  ["throttled", [429]],
];

/** What a proxy, a firewall or a gateway says in place of the service, which has done its work by then. */
const pages: readonly (readonly [FailureClass, readonly number[]])[] = [
  ["blocked", [400, 403, 407]],
  ["not there, says another", [404]],
  ["conflict", [409]],
  ["refused by another", [425]],
  ["throttled by another", [429]],
  ["failing", [502]],
];

const statuses: readonly Fault[] = [
  ...plainStatuses.flatMap(([is, all]) =>
    all.map((status): Fault => ({ name: `status ${status}`, is, status, play: responses(status) })),
  ),
  ...[302, 307].map(
    (status): Fault => ({
      name: `redirect ${status}`,
      is: "redirect",
      status,
      play: responses(status, () => "retry-after: 0\r\nlocation: /elsewhere\r\n"),
    }),
  ),
  ...pages.flatMap(([is, all]) =>
    all.map(
      (status): Fault => ({
        name: `status ${status} as a page`,
        is,
        status,
        play: says(({ told }) => wireResponse(status, `<html>${told.text}</html>`)),
      }),
    ),
  ),
  ...faultsOf([
    ["status 204", "not the record", { play: says(() => "HTTP/1.1 204 No Content\r\n\r\n") }],
    [
      "status 400 whose body breaks off",
      "blocked",
      {
        status: 400,
        play: partly(({ told }) => `HTTP/1.1 400 Bad Request\r\ncontent-length: 5000\r\n\r\n{"m":"${told.text}`, reset),
      },
    ],
  ]),
];

const inTenSeconds = () => new Date(Date.now() + 10_000).toUTCString();

/** `Retry-After`, and whether the wait is longer than the call. */
const retryAfters: readonly (readonly [form: string, value: () => string, isLong: boolean])[] = [
  ["0 s", () => "0", false],
  ["a date to come", inTenSeconds, true],
  ["an absurd number", () => "9".repeat(30), true],
  ["nonsense", () => "soon", false],
];

const waits: readonly Fault[] = ([429, 503] as const).flatMap((status) =>
  retryAfters.map(([form, value, isLong]): Fault => {
    const base = status === 429 ? "throttled" : "failing";
    const name = `status ${status} with Retry-After: ${form}`;
    const play = responses(status, () => `retry-after: ${value()}\r\n`);
    return { name, is: isLong ? `${base}, long wait` : base, status, play };
  }),
);

const stallsAtRequest: Play = { atRequest: ({ stalled }) => stalled() };

/** The call is ended in each of its phases, by its deadline and by its caller. */
const phases: readonly Fault[] = [
  ...(["token", "signing", "queue"] as const).flatMap((phase): Fault[] => {
    const play = phase === "signing" ? undefined : { play: stallsAtRequest };
    const rest = { phase, always: true, whole: false, ...play };
    const where = phase === "signing" ? (" where it is signed" as const) : ("" as const);
    // In the queue the stall begins before the call; the others wait until the call reaches it.
    const abortAfterMs = phase === "queue" ? 100 : 30;
    return [
      { name: `deadline in the phase: ${phase}`, is: `deadline unsent${where}`, ...rest },
      { name: `abort in the phase: ${phase}`, is: `abort unsent${where}`, abortAfterMs, ...rest },
    ];
  }),
  ...faultsOf([
    [
      "abort in the phase: connect",
      "abort unsent",
      { tls: tlsOf("good"), whole: false, abortAfterMs: 30, play: { atAccept: (_, stalled) => stalled() } },
    ],
    ["abort in the phase: sent", "abort sent", { abortAfterMs: 30, play: stallsAtRequest }],
    ["abort in the phase: body", "abort reading", { abortAfterMs: 100, play: partly(someBody, "stall") }],
  ]).map((fault) => ({ ...fault, always: true })),
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
