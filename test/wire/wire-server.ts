import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { onTestFinished } from "vitest";
import { originInTest } from "../support/origin-of.js";

/** What a server over bare sockets does; it may break any rule of HTTP. */
export interface WireScript {
  /** Called with each new connection, before anything is read. */
  onConnection?(socket: Socket): void;
  /** Called with each whole request, as it came over the wire. `number` counts from 1 over all connections. */
  onRequest?(socket: Socket, request: string, number: number): void;
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface WireServer {
  readonly origin: string;
  readonly port: number;
  /** Every whole request, in order. */
  readonly requests: readonly string[];
  /** Every byte that arrived, whether part of a request or not. */
  received(): string;
  connections(): number;
  /** Settles when a connection has been closed. The client may have opened another by then. */
  dropped(): Promise<void>;
}

/** Starts a server on loopback, which is closed at the end of the test. */
export async function startWireServer(script: WireScript): Promise<WireServer> {
  const requests: string[] = [];
  const open = new Set<Socket>();
  let received = "";
  let connections = 0;
  const serve = (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
    let unread = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      unread += chunk.toString("latin1");
      for (let length = requestLength(unread); length !== undefined; length = requestLength(unread)) {
        const request = unread.slice(0, length);
        unread = unread.slice(length);
        requests.push(request);
        script.onRequest?.(socket, request, requests.length);
      }
    });
    script.onConnection?.(socket);
  };
  const server: Server = script.tls === undefined ? createServer(serve) : createTlsServer(script.tls, serve);
  if (script.tls !== undefined) server.on("tlsClientError", () => {});
  const origin = await originInTest(server, script.tls === undefined ? "http" : "https");
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
  });
  return {
    origin,
    port: Number(new URL(origin).port),
    requests,
    received: () => received,
    connections: () => connections,
    async dropped() {
      while (open.size === connections) await new Promise((resolve) => setTimeout(resolve, 2));
    },
  };
}

/** A well-formed response. */
export function wireResponse(status: number, body: string | Buffer, headers = ""): Buffer {
  const bytes = Buffer.from(body);
  const head = `HTTP/1.1 ${status} Said\r\ncontent-type: application/json\r\n${headers}content-length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

function requestLength(text: string): number | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const length = end + 4 + Number(/^content-length: *(\d+)/im.exec(text.slice(0, end))?.[1] ?? 0);
  return text.length < length ? undefined : length;
}
