import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { originOf } from "../support/origin-of.js";

/**
 * The files of a folder over HTTP, as a site's host has them: `/errors` is `errors.html`.
 *
 * @param headers of every file.
 * @param settings returns what `/settings.json` has.
 */
export async function serveFolder(folder: string, headers: object = {}, settings: () => unknown = () => undefined) {
  const server = createServer(async ({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://site.test");
    if (pathname === "/settings.json") return void response.end(JSON.stringify(settings()));
    const path = pathname.endsWith("/")
      ? `${pathname}index.html`
      : extname(pathname) === ""
        ? `${pathname}.html`
        : pathname;
    try {
      const body = await readFile(join(folder, path));
      const type = types[extname(path)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "cache-control": "max-age=3600", ...headers }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  return {
    url: await originOf(server),
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
