import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectByTls, TLSSocket } from "node:tls";
import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { addressTimeoutMs } from "../../platform/undici-agent.js";
import type { Connection } from "../../settings/connection.js";
import { failed, ok, type Result } from "./findings.js";

/** How the checks reach an address: as the client does. */
export type Way = Pick<Connection, "proxyFor" | "tls">;

/** The host that this machine connects to: the service's, or the proxy's. */
function placeOf(origin: URL, { proxyFor }: Way) {
  const proxy = proxyFor(origin);
  const { hostname, port, protocol } = proxy ?? origin;
  const host = hostname.replace(/^\[|\]$/g, "");
  return { proxy, host, port: Number(port) || (protocol === "http:" ? 80 : 443) };
}

export async function checkName(origin: URL, connection: Way): Promise<Result> {
  const { proxy, host } = placeOf(origin, connection);
  const whose = proxy === undefined ? "" : ` (the proxy, which looks up ${origin.hostname})`;
  if (isIP(host) !== 0) return ok(`${host} is an IP address${whose}`);
  try {
    const addresses = await lookup(host, { all: true });
    return ok(`${host} is ${addresses.map(({ address }) => address).join(", ")}${whose}`);
  } catch (error) {
    const remedy = "check the spelling, and which name server this machine asks";
    return failed(`${host} has no address (${codeOf(error)})${whose}`, remedy);
  }
}

/** Whether something listens, and for https whether its certificate is trusted, has the right name, and lasts. */
export async function checkConnection(origin: URL, connection: Way): Promise<Result> {
  const { proxy, host, port } = placeOf(origin, connection);
  try {
    const socket = await openSocket(origin, connection);
    const judged = socket instanceof TLSSocket ? judge(socket) : undefined;
    socket.destroy();
    if (judged !== undefined) return judged;
    const how = proxy === undefined ? "http, not encrypted" : `the proxy to ${origin.host}`;
    return ok(`connected to ${host}:${port} (${how})`);
  } catch (error) {
    const remedy = "check address, port, and firewalls, and whether the other side lets this machine in";
    return failed(`no connection to ${host}:${port} (${codeOf(error)})`, remedy);
  }
}

/** A socket to the service or the proxy. Certificates aren't checked, so that it can be said what is wrong with them: send no secret. */
export async function openSocket(origin: URL, connection: Way): Promise<Socket> {
  const { proxy, host, port } = placeOf(origin, connection);
  const place = { host, port, autoSelectFamilyAttemptTimeout: addressTimeoutMs };
  const isPlain = proxy !== undefined || origin.protocol === "http:";
  const { ca, ...own } = connection.tls ?? {};
  const tls = { ...place, ...own, ...(ca && { ca: [...ca] }), rejectUnauthorized: false };
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = isPlain ? connect(place) : connectByTls({ ...tls, ...name });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(5000, () => reject(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" })));
      socket.once("error", reject);
      socket.once(isPlain ? "connect" : "secureConnect", resolve);
    });
    return socket.setTimeout(0);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function judge(socket: TLSSocket): Result {
  const { issuer, valid_to: end } = socket.getPeerCertificate();
  const by = `issued by ${issuer?.O ?? issuer?.CN ?? "nobody"}`;
  if (!socket.authorized) {
    const why = codeOf(socket.authorizationError);
    const remedy = remedies[why] ?? "give the authority that issued it as ca, or find out who is in between";
    return failed(`the certificate is not trusted (${why}), ${by}`, remedy);
  }
  const days = Math.floor((Date.parse(end) - clock.wallMs()) / 86_400_000);
  const found = `${socket.getProtocol()}, certificate ${by}, valid for another ${counted(days, "day")}`;
  if (days >= 14) return ok(found);
  return { status: "warning", found, remedy: "tell the other side that it ends soon" };
}

const remedies: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate has another name: check the address",
  CERT_HAS_EXPIRED: "the other side must renew it; check this machine's clock, too",
  CERT_NOT_YET_VALID: "check this machine's clock",
};

function codeOf(error: unknown): string {
  return String(Object(error).code ?? error);
}
