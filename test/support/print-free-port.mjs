// Prints a port of loopback that nobody listens on, as `free-port.ts` chooses it: none that systems give to whoever connects somewhere.
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

function attempt() {
  const port = randomInt(12_000, 32_000);
  const server = createServer();
  server.once("error", attempt);
  server.listen(port, "127.0.0.1", () => server.close(() => console.log(port)));
}

attempt();
