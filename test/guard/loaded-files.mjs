import { once } from "node:events";
import { createServer } from "node:http";
import { Session } from "node:inspector";
import { record } from "../../tools/bench/record.mjs";

/**
 * Counts the files that Node compiles: on import of the main entry, and up to the first response.
 * `loaded-files.mjs DIST_URL` prints them as JSON.
 */
const loaded = new Set();
const session = new Session();
session.connect();
session.on("Debugger.scriptParsed", ({ params: { url } }) => {
  // CommonJS is known by its path, ES modules by their address.
  if (url.startsWith("file:") || url.startsWith("/")) loaded.add(url);
});
session.post("Debugger.enable");
const before = loaded.size;

const { CrossBorderClient } = await import(`${process.argv[2]}index.js`);
const filesOnImport = loaded.size - before;

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    response.setHeader("content-type", "application/json");
    const isLogin = request.url.endsWith("/token");
    response.end(JSON.stringify(isLogin ? { access_token: "t", token_type: "Bearer", expires_in: 60 } : record(1)));
  });
}).listen(0, "127.0.0.1");
await once(server, "listening");
const baseUrl = `http://127.0.0.1:${server.address().port}`;
const auth = { authUrl: baseUrl, realm: "r", clientId: "c", username: "u", password: "p" };
const client = new CrossBorderClient({ baseUrl, auth });
await client.paymentIntents.get("1");
const filesUpToFirstResponse = loaded.size - before;
await client.close();
server.close();

process.stdout.write(`${JSON.stringify({ filesOnImport, filesUpToFirstResponse })}\n`);
