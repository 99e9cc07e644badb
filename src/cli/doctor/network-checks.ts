import { lookup } from "node:dns/promises";
import { type IncomingHttpHeaders, request as requestPlain } from "node:http";
import { request as requestByTls } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectByTls, rootCertificates, type TLSSocket } from "node:tls";
import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { addressTimeoutMs } from "../../platform/undici-agent.js";
import type { Connection } from "../../settings/connection.js";
import { codeOf, failed, ok, type Result, warning } from "./finding.js";

/** How the checks reach an address: as the client does. */
export type Way = Pick<Connection, "proxyFor" | "tls">;

const timeoutMs = 5000;
/** As the client does. */
const slowly = { autoSelectFamilyAttemptTimeout: addressTimeoutMs };

export async function checkName(origin: URL, { proxyFor }: Way): Promise<Result> {
  const proxy = proxyFor(origin);
  const host = hostOf(proxy ?? origin);
  const whose = proxy === undefined ? "" : `; it is the proxy's, which looks up ${hostOf(origin)}`;
  if (isIP(host) !== 0) return ok(`${host} is an address itself${whose}`);
  try {
    const addresses = await lookup(host, { all: true });
    return ok(`${host} is ${addresses.map(({ address }) => address).join(", ")}${whose}`);
  } catch (error) {
    return failed(
      `${host} has no address (${codeOf(error)})${whose}`,
      "check how it is spelt, and which name server this machine asks",
    );
  }
}

/** Whether somebody listens, and, over https, whether the certificate is trusted, of this name, and lasts. */
export async function checkConnection(origin: URL, way: Way): Promise<Result> {
  const proxy = way.proxyFor(origin);
  const where = `${hostOf(origin)}, port ${portOf(origin)}${proxy === undefined ? "" : ` by the proxy ${proxy.host}`}`;
  try {
    // A certificate that is not trusted is looked at, so that it can be said why; nothing is sent to its owner.
    const socket = await openSocket(origin, way, { rejectUnauthorized: false });
    try {
      return origin.protocol === "http:"
        ? ok(`somebody listens at ${where}; http, so nothing is encrypted`)
        : judge(socket as TLSSocket);
    } finally {
      socket.destroy();
    }
  } catch (error) {
    const remedy = proxy === undefined ? "" : ", the proxy's rules and the user and password it asks for";
    return failed(
      `no connection to ${where} (${codeOf(error)})`,
      `check the address and its port, firewalls on the way${remedy}, and whether the other side lets this address in`,
    );
  }
}

/** A socket to an address, encrypted where that is https. */
export async function openSocket(
  origin: URL,
  { proxyFor, tls = {} }: Way,
  { rejectUnauthorized }: { readonly rejectUnauthorized: boolean },
): Promise<Socket> {
  const [host, port] = [hostOf(origin), portOf(origin)];
  const proxy = proxyFor(origin);
  const tunnel = proxy === undefined ? undefined : await openTunnel(origin, proxy, tls);
  if (origin.protocol === "http:") return tunnel ?? ready(connect({ host, port, ...slowly }), "connect");
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const { ca, ...own } = tls;
  const options = { ...slowly, ...servername, ...own, ...(ca && { ca: [...ca] }), rejectUnauthorized };
  const socket = connectByTls(tunnel === undefined ? { ...options, host, port } : { ...options, socket: tunnel, host });
  return ready(socket, "secureConnect");
}

function openTunnel(origin: URL, proxy: URL, { ca }: NonNullable<Way["tls"]>): Promise<Socket> {
  const target = `${origin.hostname}:${portOf(origin)}`;
  const user = [proxy.username, proxy.password].map(decodeURIComponent).join(":");
  const authorization = user === ":" ? {} : { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
  const request = proxy.protocol === "http:" ? requestPlain : requestByTls;
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ host: hostOf(proxy), port: portOf(proxy), method: "CONNECT", path: target, timeout: timeoutMs, ...slowly },
      headers: { host: target, ...authorization },
      ...(ca && { ca: [...rootCertificates, ...ca] }),
    });
    sent.once("connect", ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new Error(`the proxy responded with ${statusCode}`));
    });
    sent.once("response", ({ statusCode }) => reject(new Error(`the proxy responded with ${statusCode}`)));
    sent.once("timeout", () => sent.destroy(timeoutError()));
    sent.once("error", reject);
    sent.end();
  });
}

function judge(socket: TLSSocket): Result {
  const { issuer, valid_to: end } = socket.getPeerCertificate();
  const by = `issued by ${issuer?.O ?? issuer?.CN ?? "somebody without a name"}`;
  if (!socket.authorized) {
    const why = String(
      (socket.authorizationError as { readonly code?: string } | undefined)?.code ?? socket.authorizationError,
    );
    const remedy =
      remedies.get(why) ??
      "give the authority that issued it by ca (and to the client by the option tls: { ca }), or look who stands between";
    return failed(`the certificate is not trusted (${why}), ${by}`, remedy);
  }
  const days = Math.floor((Date.parse(end) - clock.wallMs()) / 86_400_000);
  const found = `${socket.getProtocol()}, certificate ${by}, for another ${counted(days, "day")}`;
  return days < 14 ? warning(found, "tell the other side that it ends soon") : ok(found);
}

/** Remedies by Node's codes for a certificate that is wrong. */
const remedies: ReadonlyMap<string, string> = new Map([
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the certificate is of another name: check the address"],
  ["CERT_HAS_EXPIRED", "the other side has to renew it; check this machine's clock as well"],
  ["CERT_NOT_YET_VALID", "check this machine's clock"],
]);

async function ready<S extends Socket>(socket: S, event: string): Promise<S> {
  try {
    return await new Promise<S>((resolve, reject) => {
      socket.setTimeout(timeoutMs);
      socket.once("timeout", () => reject(timeoutError()));
      socket.once("error", reject);
      socket.once(event, () => resolve(socket));
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Tokens, signatures of certificates and looks at payments all go by the time. */
export async function checkClock(origin: URL, way: Way): Promise<Result> {
  try {
    const socket = await openSocket(origin, way, { rejectUnauthorized: true });
    const sentMs = clock.wallMs();
    const { date, age } = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      const sent = requestPlain(
        {
          method: "HEAD",
          path: "/",
          headers: { host: origin.host },
          timeout: timeoutMs,
          createConnection: () => socket,
        },
        (response) => {
          response.resume();
          resolve(response.headers);
        },
      );
      sent.once("timeout", () => sent.destroy(timeoutError()));
      sent.once("error", reject);
      sent.end();
    }).finally(() => socket.destroy());
    const dateMs = Date.parse(date ?? "");
    if (Number.isNaN(dateMs))
      return warning("the service does not tell its time", "compare this machine's clock by other means");
    // Both have whole seconds, and a cache says how old the date is.
    const aheadMs = (sentMs + clock.wallMs()) / 2 - dateMs - 500 - 1000 * (Number(age) || 0);
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    if (seconds <= 5) return ok("this machine's clock and the service's agree to within 5 s");
    const found = `this machine's clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the service's`;
    const remedy = "set it by NTP: tokens and certificates are judged by it";
    return seconds > 60 ? failed(found, remedy) : warning(found, remedy);
  } catch (error) {
    return warning(`the service's time is not known (${codeOf(error)})`, "see the checks above");
  }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "http:" ? 80 : 443) : Number(port);
}

function timeoutError(): Error {
  return Object.assign(new Error("timeout"), { code: "ETIMEDOUT" });
}
