import type { Socket } from "node:net";
import { type SeenRequest, startWireFaultServer, type WireFaultServer, wireResponse } from "./wire-fault-server.js";

/**
 * A server that closes connections that have been idle for so long, at the moment in which the next request comes. It doesn't do that one. It
 * promises to keep connections for a minute, as a server does that knows nothing of the proxy before it.
 */
export function startIdleServer(idleMs: number): Promise<WireFaultServer> {
  const usedAtMs = new Map<Socket, number>();
  const lost = new Set<SeenRequest>();
  return startWireFaultServer({
    response: responseTo,
    play: {
      commits: (request) => !lost.has(request),
      atRequest({ socket, request, rightBody }) {
        const idleForMs = request.atMs - (usedAtMs.get(socket) ?? request.atMs);
        if (idleForMs >= idleMs) {
          lost.add(request);
          return socket.resetAndDestroy();
        }
        usedAtMs.set(socket, request.atMs);
        return socket.write(wireResponse(201, rightBody, "keep-alive: timeout=60\r\n"));
      },
    },
  });
}

function responseTo({ body }: SeenRequest): string {
  return JSON.stringify({ ...JSON.parse(body === "" ? "{}" : body), id: "made" });
}
