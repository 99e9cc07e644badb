import { type AddressInfo, connect, createServer } from "node:net";

/** A loopback port on which nothing listens. */
export interface ClosedPort {
  readonly port: number;
  close(): void;
}

/**
 * Takes a port that refuses connections. It is the near end of a connection, so that no server of another test can get it: a port
 * that was merely closed is soon somebody else's.
 */
export async function openClosedPort(): Promise<ClosedPort> {
  const server = createServer((socket) => socket.on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  return {
    port: socket.localPort ?? 0,
    close() {
      socket.destroy();
      server.close();
    },
  };
}
