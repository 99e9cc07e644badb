import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** One whole request, as the server read it. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** When its last byte arrived, by `performance.now()`. */
  readonly atMs: number;
}

/** What really happened, whatever the client believes. */
export interface GroundTruth {
  /** TCP connections that were accepted. */
  readonly connections: number;
  readonly bytesReceived: number;
  /** Whole requests, in order. */
  readonly requests: readonly SeenRequest[];
  /** Those of them that were done. */
  readonly commits: readonly SeenRequest[];
}

/** A whole request, and the socket on which the fault now happens. */
export interface Exchange {
  readonly socket: Socket;
  readonly request: SeenRequest;
  /** Number of the request over all connections, from 1. */
  readonly number: number;
  /** Number of the request on its connection, from 1. */
  readonly numberOnConnection: number;
  /** What the service would have responded. */
  readonly rightBody: string;
  /** Secrets that the server repeats in some faults; empty where there are none. */
  readonly told: ToldSecrets;
  /** To be called when the fault has begun to stall, or to wait for the next request. */
  stalled(): void;
}

/** What a service that repeats secrets puts into its responses. */
export interface ToldSecrets {
  /** A sentence with all of them. */
  readonly text: string;
  /** One of them, where only a word fits. */
  readonly word: string;
}

/** How one connection or request goes wrong. */
export interface Play {
  /** Takes over the connection before a byte is read; TLS has not begun. */
  readonly atAccept?: (socket: Socket, stalled: () => void) => void;
  /** Takes over when the first bytes arrive, of which 16 are read at most. */
  readonly atFirstBytes?: (socket: Socket, stalled: () => void) => void;
  /** Takes over when a whole request has arrived. `false`: this request gets the right response. */
  readonly atRequest?: (exchange: Exchange) => unknown;
  /** Whether the service does what a whole request asks before it fails: the worst case. Default: true. */
  readonly commits?: boolean | ((request: SeenRequest) => boolean);
}

export interface WireFaultServerOptions {
  readonly play?: Play | undefined;
  /** How many connections or requests meet the fault; those after them are served well. Default: all. */
  readonly times?: number | undefined;
  /** The first connection is served well, for one request; then it is closed. */
  readonly firstWell?: boolean | undefined;
  readonly tls?: TlsOptions | undefined;
  readonly response: (request: SeenRequest) => string;
  /** The secrets to repeat, from all requests so far. Default: none. */
  readonly told?: ((requests: readonly SeenRequest[]) => ToldSecrets) | undefined;
}

/** A server that shows one fault over bare sockets, and knows what really happened. */
export interface WireFaultServer {
  readonly origin: string;
  readonly port: number;
  readonly truth: GroundTruth;
  /** Settles when a fault has begun to stall. */
  readonly stalled: Promise<void>;
  close(): Promise<void>;
}

const nothingTold: ToldSecrets = { text: "", word: "" };

export async function startWireFaultServer(options: WireFaultServerOptions): Promise<WireFaultServer> {
  const { play = {}, response } = options;
  const requests: SeenRequest[] = [];
  const commits: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const truth = { connections: 0, bytesReceived: 0, requests, commits };
  let left = options.times ?? Number.POSITIVE_INFINITY;
  let stalled = (): void => {};
  const stall = new Promise<void>((resolve) => {
    stalled = resolve;
  });
  const isSpared = (): boolean => options.firstWell === true && truth.connections === 1;
  const takesTurn = (): boolean => !isSpared() && left-- > 0;

  const onRequest = (socket: Socket, request: SeenRequest, numberOnConnection: number): void => {
    requests.push(request);
    const rightBody = response(request);
    const mine = play.atRequest !== undefined && takesTurn();
    const told = options.told?.(requests) ?? nothingTold;
    const exchange = { socket, request, number: requests.length, numberOnConnection, rightBody, told, stalled };
    // What the fault leaves alone is served as it should be.
    const isPlayed = mine && play.atRequest?.(exchange) !== false;
    const { commits: does = true } = play;
    if (!isPlayed || (typeof does === "function" ? does(request) : does)) commits.push(request);
    if (!isPlayed) socket.write(wireResponse(200, rightBody, isSpared() ? "connection: close\r\n" : ""));
  };
  const serve = (socket: Socket): void => {
    if (play.atFirstBytes !== undefined && takesTurn()) {
      const { atFirstBytes } = play;
      socket.once("readable", () => {
        truth.bytesReceived += (socket.read(Math.min(16, socket.readableLength)) as Buffer | null)?.length ?? 0;
        atFirstBytes(socket, stalled);
      });
      return;
    }
    readRequests(
      socket,
      (request, number) => onRequest(socket, request, number),
      (bytes) => {
        truth.bytesReceived += bytes;
      },
    );
  };
  const tlsServer = options.tls === undefined ? undefined : createTlsServer(options.tls, serve);
  tlsServer?.on("tlsClientError", () => {});
  tlsServer?.on("secureConnection", (socket) => socket.on("error", () => {}));
  const server = createServer((socket) => {
    truth.connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    if (play.atAccept !== undefined && takesTurn()) play.atAccept(socket, stalled);
    else if (tlsServer !== undefined) tlsServer.emit("connection", socket);
    else serve(socket);
  });
  const port = await listen(server);
  return {
    origin: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    truth,
    stalled: stall,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A well-formed response. */
export function wireResponse(status: number, body: string | Buffer, headers = "", reason = "Said"): Buffer {
  const bytes = Buffer.from(body);
  const type = /^content-type:/im.test(headers) ? "" : "content-type: application/json\r\n";
  const head = `HTTP/1.1 ${status} ${reason}\r\n${type}${headers}content-length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    // Listening on a port, not on a pipe: the address is an object.
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function readRequests(
  socket: Socket,
  onRequest: (request: SeenRequest, number: number) => void,
  onBytes: (bytes: number) => void,
): void {
  let unread = Buffer.alloc(0);
  let number = 0;
  socket.on("data", (chunk: Buffer) => {
    onBytes(chunk.length);
    unread = Buffer.concat([unread, chunk]);
    for (let length = lengthOf(unread); length !== undefined; length = lengthOf(unread)) {
      number += 1;
      const request = parseRequest(unread.subarray(0, length));
      unread = unread.subarray(length);
      onRequest(request, number);
    }
  });
}

function lengthOf(bytes: Buffer): number | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.subarray(0, end).toString("latin1");
  const length = end + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  return bytes.length < length ? undefined : length;
}

function parseRequest(bytes: Buffer): SeenRequest {
  const end = bytes.indexOf("\r\n\r\n");
  const [line = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const [method = "", target = ""] = line.split(" ");
  const headers = new Map(
    lines.map((text): [string, string] => {
      const colon = text.indexOf(":");
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
    }),
  );
  return { method, target, headers, body: bytes.subarray(end + 4).toString("utf8"), atMs: performance.now() };
}
