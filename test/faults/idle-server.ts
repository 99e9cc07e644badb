import type { Socket } from "node:net";
import { type SeenRequest, startWireFaultServer, type WireFaultServer, wireResponse } from "./wire-fault-server.js";

/**
 * A server that closes connections that have been idle: `by timer`, as servers do, so that a request may cross the FIN; or `at the
 * next request`, which is that very moment each time. What arrives then is not done. It promises to keep them for a minute, as a
 * server does that knows nothing of the proxy before it.
 */
export interface IdleServerOptions {
  readonly idleMs: number;
  readonly closes: "by timer" | "at the next request";
}

export function startIdleServer({ idleMs, closes }: IdleServerOptions): Promise<WireFaultServer> {
  const usedAtMs = new Map<Socket, number>();
  const timers = new Map<Socket, NodeJS.Timeout>();
  const lost = new Set<SeenRequest>();
  return startWireFaultServer({
    response: responseTo,
    play: {
      commits: (request) => !lost.has(request),
      atRequest({ socket, request, rightBody }) {
        const idleForMs = request.atMs - (usedAtMs.get(socket) ?? request.atMs);
        if (closes === "at the next request" && idleForMs >= idleMs) {
          lost.add(request);
          return socket.resetAndDestroy();
        }
        usedAtMs.set(socket, request.atMs);
        clearTimeout(timers.get(socket));
        if (closes === "by timer")
          timers.set(
            socket,
            setTimeout(() => socket.destroy(), idleMs),
          );
        return socket.write(wireResponse(201, rightBody, "keep-alive: timeout=60\r\n"));
      },
    },
  });
}

function responseTo({ body }: SeenRequest): string {
  return JSON.stringify({ ...JSON.parse(body === "" ? "{}" : body), id: "made" });
}
