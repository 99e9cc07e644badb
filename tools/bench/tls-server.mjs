import { createServer } from "node:https";
import { record, token } from "./record.mjs";

/** A service over TLS 1.3, forked: it is told its certificate, tells its port, and then its handshakes whenever it is asked. */
const made = JSON.stringify(record(1));
const login = JSON.stringify({ access_token: token(1), token_type: "Bearer", expires_in: 36_000 });
const seen = { handshakes: 0, resumed: 0 };

process.once("message", (identity) => {
  const server = createServer({ ...identity, minVersion: "TLSv1.3" }, (request, response) => {
    const body = request.url.endsWith("/token") ? login : made;
    response.setHeader("content-type", "application/json");
    request.resume().on("end", () => response.end(body));
  });
  server.keepAliveTimeout = 60_000;
  server.on("secureConnection", (socket) => {
    seen.handshakes++;
    if (socket.isSessionReused()) seen.resumed++;
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
  process.on("message", () => process.send(seen));
});
process.once("disconnect", () => process.exit());
