import { maxFormBytes } from "./read-form.js";

/** What is used of a request of `node:http` or `node:http2`, or of a framework over them. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersionMajor?: number;
  readonly rawHeaders: readonly string[];
  /** Whether something has read its body, such as a parser of forms. */
  readonly readableEnded?: boolean | undefined;
  /** What that made of it. */
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
 * The desk as a listener of `node:http` or `node:http2`: `createServer(deskListener(desk))`, or for Express, Nest and Fastify. A form that a parser
 * of bodies has read before is taken from `body`. Never rejects: what fails ends the one connection.
 */
export function deskListener(
  desk: (request: Request) => Promise<Response>,
): (incoming: NodeRequest, outgoing: NodeResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    try {
      const response = await desk(await requestOf(incoming));
      const body = new Uint8Array(await response.arrayBuffer());
      const headers = { ...Object.fromEntries(response.headers), "content-length": String(body.length) };
      // The rest of a body that was too long is not waited for.
      const ending = response.status === 413 && incoming.httpVersionMajor === 1 ? { connection: "close" } : {};
      outgoing.writeHead(response.status, { ...headers, ...ending });
      if (incoming.method === "HEAD") outgoing.end();
      else outgoing.end(body);
    } catch {
      outgoing.destroy();
    }
  };
}

async function requestOf(incoming: NodeRequest): Promise<Request> {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    // HTTP/2 has the host among fields that are no headers.
    if (name === ":authority") headers.set("host", value);
    else if (!name.startsWith(":")) headers.append(name, value);
  }
  // Only the query counts: whatever the path is made of, it leads nowhere else.
  const [, query = ""] = /^[^?#]*(\?[^#]*)?/.exec(url) ?? [];
  const isBodiless = method === "GET" || method === "HEAD";
  // `Request` can't carry these; they are refused like any other.
  const carried = ["CONNECT", "TRACE", "TRACK"].includes(method) ? "OPTIONS" : method;
  const body = isBodiless || carried === "OPTIONS" ? {} : { body: await bodyOf(incoming) };
  return new Request(`http://desk.invalid/${query}`, { method: carried, headers, ...body });
}

/** As much as the desk reads, and one byte more if there is more. */
async function bodyOf(incoming: NodeRequest): Promise<Blob> {
  if (incoming.readableEnded === true) return new Blob([formOf(incoming.body)]);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  // An iterator that is ended early ends the connection, and with it the response.
  const iterator = incoming[Symbol.asyncIterator]();
  while (bytes <= maxFormBytes) {
    const { done, value } = await iterator.next();
    if (done) break;
    bytes += value.byteLength;
    chunks.push(new Uint8Array(value));
  }
  return new Blob(chunks);
}

/** The desk has no fields of another kind, such as a parser makes of `a[b]`. */
function formOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  const fields = Object.entries(Object(body)).filter(
    (field): field is [string, string] => typeof field[1] === "string",
  );
  return String(new URLSearchParams(fields));
}
