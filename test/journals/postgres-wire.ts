import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** One message of PostgreSQL's protocol: its type, and its body without the length. */
interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/** Changes messages on their way. What it leaves as it is, it returns. */
export type Change = (message: Message) => Message;

export interface PostgresWire {
  /** The address of the server, by way of here. */
  readonly url: string;
  /** The names that statements were prepared under, in order; "" for those that were not kept. */
  readonly names: string[];
  close(): Promise<void>;
}

interface Changes {
  readonly toServer?: Change;
  readonly toClient?: Change;
}

/** Stands between a client and a server, and sees each message. */
export async function openPostgresWire(server: string, changes: Changes = {}): Promise<PostgresWire> {
  const { hostname, port } = new URL(server);
  const names: string[] = [];
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket.on("error", () => {}));
      socket.on("close", () => [client, upstream].forEach((either) => void either.destroy()));
    }
    // The first message of a client has no type.
    forward(client, upstream, 1, (message) => {
      if (message.type === "P") names.push(message.body.subarray(0, message.body.indexOf(0)).toString());
      return changes.toServer?.(message) ?? message;
    });
    forward(upstream, client, 0, (message) => changes.toClient?.(message) ?? message);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = new URL(server);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    names,
    async close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

function forward(from: Socket, to: Socket, untyped: number, change: Change): void {
  let left = untyped;
  let pending: Buffer = Buffer.alloc(0);
  from.on("data", (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const start = left > 0 ? 0 : 1;
      if (pending.length < start + 4) return;
      const end = start + pending.readInt32BE(start);
      if (pending.length < end) return;
      const whole = pending.subarray(0, end);
      pending = pending.subarray(end);
      if (left > 0) {
        left -= 1;
        to.write(whole);
        continue;
      }
      const { type, body } = change({ type: whole.toString("latin1", 0, 1), body: whole.subarray(5) });
      const head = Buffer.alloc(5);
      head.write(type, 0, "latin1");
      head.writeInt32BE(body.length + 4, 1);
      to.write(Buffer.concat([head, body]));
    }
  });
}
