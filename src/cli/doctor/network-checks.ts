import { lookup } from "node:dns/promises";
import { request as requestPlain } from "node:http";
import { request as requestByTls } from "node:https";
import { connect, isIP } from "node:net";
import { connect as connectByTls, type TLSSocket } from "node:tls";
import { counted } from "../../errors/counted.js";
import { codeOf, failed, ok, type Result, warning } from "./finding.js";

const timeoutMs = 5000;

export async function checkName(origin: URL): Promise<Result> {
  const host = hostOf(origin);
  if (isIP(host) !== 0) return ok(`${host} is an address itself`);
  try {
    const addresses = await lookup(host, { all: true });
    return ok(`${host} is ${addresses.map(({ address }) => address).join(", ")}`);
  } catch (error) {
    return failed(
      `${host} has no address (${codeOf(error)})`,
      "check how it is spelt, and which name server this machine asks",
    );
  }
}

/** Whether somebody listens, and, over https, whether the certificate is trusted, of this name, and lasts. */
export async function checkConnection(origin: URL, ca: string | undefined): Promise<Result> {
  const [host, port] = [hostOf(origin), portOf(origin)];
  const where = `${host}, port ${port}`;
  try {
    if (origin.protocol === "http:") {
      await opened(connect({ host, port }), "connect");
      return ok(`somebody listens at ${where}; http, so nothing is encrypted`);
    }
    const servername = isIP(host) === 0 ? { servername: host } : {};
    // A certificate that is not trusted is looked at, so that it can be said why; nothing is sent to its owner.
    const options = { host, port, ...servername, ...(ca === undefined ? {} : { ca }), rejectUnauthorized: false };
    return await opened(connectByTls(options), "secureConnect", judge);
  } catch (error) {
    return failed(
      `no connection to ${where} (${codeOf(error)})`,
      "check the address and its port, firewalls on the way, and whether the other side lets this address in",
    );
  }
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
  const days = Math.floor((Date.parse(end) - Date.now()) / 86_400_000);
  const found = `${socket.getProtocol()}, certificate ${by}, for another ${counted(days, "day")}`;
  return days < 14 ? warning(found, "tell the other side that it ends soon") : ok(found);
}

/** By Node's names of what is wrong with a certificate. */
const remedies: ReadonlyMap<string, string> = new Map([
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the certificate is of another name: check the address"],
  ["CERT_HAS_EXPIRED", "the other side has to renew it; check this machine's clock as well"],
  ["CERT_NOT_YET_VALID", "check this machine's clock"],
]);

async function opened<S extends { destroy(): unknown; setTimeout(ms: number): unknown }>(
  socket: S & { once(event: string, listener: (...given: never[]) => void): unknown },
  event: string,
  look: (socket: S) => Result = () => ok(""),
): Promise<Result> {
  try {
    return await new Promise<Result>((resolve, reject) => {
      socket.setTimeout(timeoutMs);
      socket.once("timeout", () => reject(timeoutError()));
      socket.once("error", reject as never);
      socket.once(event, () => resolve(look(socket)));
    });
  } finally {
    socket.destroy();
  }
}

/** Tokens, signatures of certificates and looks at payments all go by the time. */
export async function checkClock(origin: URL, ca: string | undefined): Promise<Result> {
  const request = origin.protocol === "http:" ? requestPlain : requestByTls;
  try {
    const sentMs = Date.now();
    const date = await new Promise<string | undefined>((resolve, reject) => {
      const sent = request(
        origin,
        { method: "HEAD", timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) },
        (response) => {
          response.resume();
          resolve(response.headers.date);
        },
      );
      sent.once("timeout", () => sent.destroy(timeoutError()));
      sent.once("error", reject);
      sent.end();
    });
    if (date === undefined)
      return warning("the service does not tell its time", "compare this machine's clock by other means");
    // The header has whole seconds.
    const aheadMs = (sentMs + Date.now()) / 2 - Date.parse(date) - 500;
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
