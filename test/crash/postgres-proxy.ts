import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What a client sent to be done together: everything up to a `Sync`, or a message on its own. */
export interface ClientStatement {
  readonly bytes: Buffer;
  /** SQL and parameters, as far as they are text. */
  readonly text: string;
}

/** What becomes of a statement on its way. */
export interface StatementFate {
  /** The statement, and what the client sends behind it, is delivered when this resolves, be the client gone by then. */
  readonly until?: Promise<unknown>;
  /** The server does it, and its response is lost: the connection breaks. */
  readonly losesResponse?: boolean;
  /** The connection breaks when half of it was delivered: the server does nothing. */
  readonly isCut?: boolean;
}

/**
 * The network between the library and PostgreSQL.
 *
 * What TCP allows, and what this therefore does: whatever a client wrote may be delivered late, also when the client has long given up and
 * closed its socket, since the kernel goes on sending what it was given; it may be delivered in part, with the connection broken behind it;
 * and the response may be lost. What TCP does not allow: within one connection nothing arrives twice, and nothing overtakes what was written
 * before it. So a statement is *repeated* only by the client itself, over another connection; and *reordered* are statements of different
 * connections: the repetition arrives before the first copy, and so do later statements, of this client or of another.
 */
export class PostgresProxy implements AsyncDisposable {
  /** Asked about each statement. Default: each is delivered at once. */
  fateOf: (statement: ClientStatement) => StatementFate | undefined = () => undefined;
  readonly #server = createServer({ allowHalfOpen: true }, (client) => this.#join(client));
  #target: URL;
  readonly #sockets = new Set<Socket>();

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(target: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    const url = new URL(this.#target);
    // It listens on a port, not on a pipe, so that the address is an object.
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** All connections break, and new ones lead to another server, as when a name is given to it. */
  leadTo(target: string): void {
    this.#target = new URL(target);
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(client: Socket): void {
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port), noDelay: true });
    client.setNoDelay(true);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    }
    let losesResponse = false;
    server.on("data", (bytes) => {
      if (losesResponse) client.destroy();
      else if (client.writable) client.write(bytes);
    });
    server.once("error", () => client.destroy());
    server.once("close", () => client.destroy());
    client.once("error", () => {});
    void this.#deliver(client, server, () => {
      losesResponse = true;
    });
  }

  /** One statement after the other, in the order in which they were written; and the end of the connection behind them. */
  async #deliver(client: Socket, server: Socket, loseResponse: () => void): Promise<void> {
    const queue: ClientStatement[] = [];
    let wake = () => {};
    let isOver = false;
    const reader = new StatementReader((statement) => queue.push(statement));
    client.on("data", (bytes) => {
      reader.read(bytes);
      wake();
    });
    // An end, an error and a socket that was destroyed: the server hears of each of them behind what was written before.
    void Promise.race([once(client, "end"), once(client, "close")])
      .catch(() => {})
      .then(() => {
        isOver = true;
        wake();
      });
    for (;;) {
      const statement = queue.shift();
      if (statement === undefined) {
        if (isOver) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const fate = this.fateOf(statement);
      await fate?.until;
      if (fate?.isCut === true) {
        server.end(statement.bytes.subarray(0, Math.floor(statement.bytes.length / 2)));
        client.destroy();
        return;
      }
      if (fate?.losesResponse === true) loseResponse();
      server.write(statement.bytes);
    }
    server.end();
  }
}

/** Splits what a client sends, by PostgreSQL's protocol 3.0: a first message without a type, then a type and a length each. */
class StatementReader {
  readonly #onStatement: (statement: ClientStatement) => void;
  #rest = Buffer.alloc(0);
  #gathered: Buffer[] = [];
  #isStarted = false;

  constructor(onStatement: (statement: ClientStatement) => void) {
    this.#onStatement = onStatement;
  }

  read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const typeLength = this.#isStarted ? 1 : 0;
      if (this.#rest.length < typeLength + 4) return;
      const length = typeLength + this.#rest.readUInt32BE(typeLength);
      if (this.#rest.length < length) return;
      this.#take(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
    }
  }

  #take(message: Buffer): void {
    this.#gathered.push(message);
    const isStart = !this.#isStarted;
    this.#isStarted = true;
    // Parse, Bind, Describe and Execute come to nothing before the Sync behind them.
    if (!isStart && "PBDE".includes(String.fromCharCode(message[0] ?? 0))) return;
    const statement = Buffer.concat(this.#gathered);
    this.#gathered = [];
    this.#onStatement({ bytes: statement, text: statement.toString() });
  }
}
