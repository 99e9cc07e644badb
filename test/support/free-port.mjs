import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

// In JavaScript, since the scripts beside it run it as well, on any Node.
export async function freePort() {
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

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await freePort());
