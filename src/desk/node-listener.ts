/** A request of `node:http` or `node:http2`, or of a framework over them. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersionMajor?: number;
  readonly rawHeaders: readonly string[];
  /** Whether its body has been read, for example by a parser of forms. */
  readonly readableEnded?: boolean | undefined;
  /** The result of that parser. */
  readonly body?: unknown;
}

/** The response to it. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(): unknown;
  end(body: Uint8Array): unknown;
  destroy(): unknown;
}

/**
 * Makes the desk a listener of `node:http` or `node:http2`, as in `createServer(deskListener(desk))`, and of Express, Nest, and Fastify.
 * If a parser has read the form before, the listener takes it from `body`. It never rejects.
 */
export function deskListener(
  desk: (request: Request) => Promise<Response>,
): (incoming: NodeRequest, outgoing: NodeResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    // Loaded here, because not every runtime with web-standard requests has the modules of Node.
    const { getRequestListener } = await import("@hono/node-server");
    const options = { overrideGlobalObjects: false };
    const listener = getRequestListener(({ url, method, headers, body }) => {
      const isBodiless = method === "GET" || method === "HEAD";
      const read = incoming.readableEnded === true ? formOf(incoming.body) : body;
      const init = { method, headers, ...(!isBodiless && { body: read, duplex: "half" as const }) };
      // `authenticate` gets a request of the platform's own class.
      return desk(new Request(url, init));
    }, options);
    await listener(incoming as never, outgoing as never);
  };
}

/** The desk has text fields only. */
function formOf(read: unknown): string | Blob {
  if (typeof read === "string" || read instanceof Uint8Array) return new Blob([read as never]);
  const texts = Object.entries<string>(Object(read)).filter(([, value]) => typeof value === "string");
  return String(new URLSearchParams(texts));
}
