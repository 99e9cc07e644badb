/** What is used of a request of `node:http` or `node:http2`, or of a framework over them. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersionMajor?: number;
  readonly rawHeaders: readonly string[];
  /** Whether its body has been read, for example by a parser of forms. */
  readonly readableEnded?: boolean | undefined;
  /** What that parser made of it. */
  readonly body?: unknown;
}

/** What is used of a response to it. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(): unknown;
  end(body: Uint8Array): unknown;
  destroy(): unknown;
}

/**
 * The desk as a listener of `node:http` or `node:http2`: `createServer(deskListener(desk))`, or for Express, Nest, and Fastify. If a
 * parser has read the form before, it is taken from `body`. Never rejects.
 */
export function deskListener(
  desk: (request: Request) => Promise<Response>,
): (incoming: NodeRequest, outgoing: NodeResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    // Loaded here, since not every runtime that has web-standard requests has what this is made for.
    const { getRequestListener } = await import("@hono/node-server");
    const options = { overrideGlobalObjects: false };
    const listener = getRequestListener(({ url, method, headers, body }) => {
      const isBodiless = method === "GET" || method === "HEAD";
      const read = incoming.readableEnded === true ? formOf(incoming.body) : body;
      const init = { method, headers, ...(!isBodiless && { body: read, duplex: "half" as const }) };
      // A request of the platform's own class, as `authenticate` expects it.
      return desk(new Request(url, init));
    }, options);
    await listener(incoming as never, outgoing as never);
  };
}

/** The desk has no fields of another kind, such as a parser makes of `a[b]`. */
function formOf(read: unknown): string | Blob {
  if (typeof read === "string" || read instanceof Uint8Array) return new Blob([read as never]);
  const texts = Object.entries<string>(Object(read)).filter(([, value]) => typeof value === "string");
  return String(new URLSearchParams(texts));
}
