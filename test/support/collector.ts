import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A collector of OTLP over HTTP, on loopback: the text of what it was sent, by path. */
export async function startCollector() {
  const received = new Map<string, string>();
  const collector = createServer(async (request, response) => {
    let text = "";
    // Names and values of attributes stand in the binary form as they are.
    for await (const chunk of request) text += (chunk as Buffer).toString("latin1");
    const path = request.url ?? "";
    received.set(path, (received.get(path) ?? "") + text);
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void collector.close());
  const { port } = collector.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, received };
}
