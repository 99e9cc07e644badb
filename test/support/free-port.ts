import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** A port of loopback that nobody listens on: none of those that systems give to whoever asks for any, which another test may get meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (error) {
      if (Object(error).code !== "EADDRINUSE") throw error;
      continue;
    }
    await new Promise((done) => server.close(done));
    return port;
  }
}
