import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Deadline } from "../../src/core/deadline.js";
import { RotatingIdentity } from "../auth/rotating-identity.js";
import { originOf } from "../support/origin-of.js";

/** An identity server that rotates refresh tokens and ends a session when one is reused, and a service that takes its tokens. */
export interface IdentityServer extends AsyncDisposable {
  readonly origin: string;
  readonly identity: RotatingIdentity;
}

export async function startIdentityServer(): Promise<IdentityServer> {
  const identity = new RotatingIdentity();
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const path = incoming.url ?? "";
    if (!path.startsWith("/auth/")) {
      const token = (incoming.headers.authorization ?? "").replace("Bearer ", "");
      const isGood = identity.lives(token);
      response.writeHead(isGood ? 200 : 401, { "content-type": "application/json" }).end('{"id":"1"}');
      return;
    }
    const { status, headers, text } = await identity.send(
      {
        origin: "",
        path,
        method: "POST",
        headers: {},
        body: Buffer.concat(chunks).toString(),
        maxResponseBytes: 2 ** 20,
      },
      new Deadline({}),
    );
    response.writeHead(status, headers).end(text);
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  return {
    origin: await originOf(server),
    identity,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
