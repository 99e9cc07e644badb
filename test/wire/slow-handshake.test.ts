import { spawn } from "node:child_process";
import dns from "node:dns";
import { once } from "node:events";
import { connect } from "node:net";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { openProxyDispatcher } from "../../src/settings/connection.js";
import { undiciTransport } from "../../src/wire/undici.js";
import { failureOf, get, within } from "./exchange-fixture.js";

const server = `
  const { createServer } = require("node:http");
  const server = createServer((_, response) => response.end("done"));
  server.on("connect", (_, socket) => socket.end("HTTP/1.1 403 Forbidden\\r\\n\\r\\n"));
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));
`;

/** A server of a process that is stopped. While its queue is full, it takes no connection: the handshake waits for the next SYN. */
async function startSlowServer(): Promise<{ readonly port: number; resumeIn(ms: number): void }> {
  const child = spawn(process.execPath, ["-e", server], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [text] = await once(child.stdout, "data");
  const port = Number(text);
  child.kill("SIGSTOP");
  const queued = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  onTestFinished(() => queued.forEach((socket) => void socket.destroy()));
  await Promise.all(queued.slice(0, 2).map((socket) => once(socket, "connect")));
  return { port, resumeIn: (ms) => void setTimeout(() => child.kill("SIGCONT"), ms) };
}

beforeEach(() => {
  const addresses = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
  const lookup = vi
    .spyOn(dns, "lookup")
    .mockImplementation(((_: string, __: unknown, done: (...found: unknown[]) => void) =>
      done(null, addresses)) as never);
  return () => lookup.mockRestore();
});

const clients: readonly (readonly [string, (origin: string) => Promise<void>])[] = [
  [
    "the client's own connections",
    async (origin) => {
      const transport = undiciTransport({ connections: 1, connectTimeoutMs: 10_000 });
      onTestFinished(() => transport.close());
      expect(await transport.send(get(origin), within(15_000))).toMatchObject({ text: "done" });
    },
  ],
  [
    "a proxy",
    async (origin) => {
      const rules = { url: new URL(origin), isForHttp: true, noProxy: "" };
      const dispatcher = await openProxyDispatcher(rules, {});
      onTestFinished(() => dispatcher.close());
      const transport = undiciTransport({ connections: 1, connectTimeoutMs: 10_000, dispatcher });
      const failure = await failureOf(transport.send(get("https://service.invalid"), within(15_000)));
      expect(failure).toMatchObject({ reason: "PROXY_REFUSED" });
    },
  ],
];

it.each(clients)("wait longer than 250 ms for the handshake of a host with two addresses: %s", async (_, meet) => {
  const slow = await startSlowServer();
  slow.resumeIn(500);
  await meet(`http://slow.invalid:${slow.port}`);
  expect(dns.lookup).toHaveBeenCalled();
});
