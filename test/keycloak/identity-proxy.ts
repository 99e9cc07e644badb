import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { request } from "undici";
import { originOf } from "../support/origin-of.js";
import { keycloakOrigin } from "./keycloak.js";

/** One request to the identity server, as it arrived. */
export interface SeenTokenRequest {
  /** The last part of the path: `token` or `logout`. */
  readonly endpoint: string;
  readonly form: Readonly<Record<string, string>>;
  /** Of the response. */
  status?: number;
  body?: string;
}

/** A proxy before Keycloak that sees what the client really sends, and loses responses on demand. */
export async function startProxy() {
  const seen: SeenTokenRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { url = "", headers } = incoming;
    const form = await text(incoming);
    const entry: SeenTokenRequest = {
      endpoint: url.split("/").at(-1) ?? "",
      form: Object.fromEntries(new URLSearchParams(form)),
    };
    seen.push(entry);
    const { losesResponses } = proxy;
    const { "content-type": type, authorization } = headers;
    // Keycloak derives the issuer from the host.
    const { host } = new URL(keycloakOrigin);
    const passedOn = { host, ...(type && { "content-type": type }), ...(authorization && { authorization }) };
    const response = await request(keycloakOrigin + url, { method: "POST", headers: passedOn, body: form });
    entry.status = response.statusCode;
    entry.body = await response.body.text();
    if (losesResponses) incoming.socket.resetAndDestroy();
    else outgoing.writeHead(entry.status, { "content-type": "application/json" }).end(entry.body);
  });
  const origin = await originOf(server);
  const proxy = {
    seen,
    losesResponses: false,
    origin,
    /** Without logouts. */
    get tokenRequests(): readonly SeenTokenRequest[] {
      return seen.filter(({ endpoint }) => endpoint === "token");
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
  return proxy;
}
