import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";

/** The files of a folder over HTTP, as a site's host has them: `/errors` is `errors.html`. */
export async function serveFolder(folder: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(async ({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://site.test");
    const path = pathname.endsWith("/")
      ? `${pathname}index.html`
      : extname(pathname) === ""
        ? `${pathname}.html`
        : pathname;
    try {
      const body = await readFile(join(folder, path));
      const type = types[extname(path)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "cache-control": "max-age=3600" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".json": "application/json",
};
