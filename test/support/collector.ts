import { createServer } from "node:http";
import { originInTest } from "./origin-of.js";

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
  return { url: await originInTest(collector), received };
}
