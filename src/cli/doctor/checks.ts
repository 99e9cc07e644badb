import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectByTls, TLSSocket } from "node:tls";
import type { CrossBorderClient } from "../../client.js";
import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { ApiError, TokenError } from "../../core/errors.js";
import { addressTimeoutMs } from "../../platform/undici-agent.js";
import { type Connection, readConnection } from "../../settings/connection.js";
import { parsePublicKey, parseSigningKey } from "../../signing/keys.js";
import { sha256Hex } from "../../verification/explain-signature.js";
import { openClient, type Settings, withPassphrase } from "../settings.js";
import { Exit, messageOf, print, printable, styled, type Terminal, wrapped } from "../terminal.js";

/** The result of a check or a question. */
export interface Result {
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly found: string;
  readonly remedy?: string;
  /** An answer for programs, and for the comparison with an earlier run. It has no latencies. */
  readonly value?: string | Readonly<Record<string, string | number>>;
  /** Options of the library that follow, by the class or method that takes them. */
  readonly settings?: Readonly<Record<string, object>>;
}

export interface Finding extends Result {
  readonly check: string;
}

export interface Check {
  readonly name: string;
  /** Checks without which it is skipped. */
  readonly needs?: readonly string[];
  run(): Promise<Result>;
}

export const ok = (found: string): Result => ({ status: "ok", found });
export const skipped = (found: string): Result => ({ status: "skipped", found });

export function failed(why: unknown, remedy?: string): Result {
  if (why instanceof Exit) throw why;
  const found = typeof why === "string" ? why : messageOf(why);
  return { status: "failed", found, ...(remedy !== undefined && { remedy }) };
}

/** Runs checks one after the other, and prints a line for each unless the result is for a program. */
export async function examine(checks: readonly Check[], isJson: boolean, terminal: Terminal): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name: check, needs = [], run } of checks) {
    const isMet = (need: string) => findings.some((one) => one.check === need && /ok|warning/.test(one.status));
    const missing = needs.find((need) => !isMet(need));
    const result = missing === undefined ? await run().catch(failed) : skipped(`it needs: ${missing}`);
    findings.push({ check, ...result });
    if (!isJson) show({ check, ...result }, terminal);
  }
  return findings;
}

const marks = {
  ok: ["green", "ok"],
  warning: ["yellow", "warn"],
  failed: ["red", "FAIL"],
  skipped: ["dim", "skip"],
} as const;

function show({ check, status, found, remedy }: Finding, terminal: Terminal): void {
  const [style, mark] = marks[status];
  const line = `${styled(terminal, style, mark.padEnd(4))}  ${styled(terminal, "bold", `${check}:`)} ${printable(found)}`;
  print(terminal, wrapped(line, terminal.width));
  if (remedy !== undefined) print(terminal, wrapped(`      → ${printable(remedy)}`, terminal.width));
}

/** The checks reach an address as the client does. */
export type Way = Pick<Connection, "proxyFor" | "tls">;

/** The host that this machine connects to, which is the service or the proxy. */
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

/** A socket to the service or the proxy. Send no secret: the certificate isn't checked yet. */
export async function openSocket(origin: URL, connection: Way): Promise<Socket> {
  const { proxy, host, port } = placeOf(origin, connection);
  const place = { host, port, autoSelectFamilyAttemptTimeout: addressTimeoutMs };
  const isPlain = proxy !== undefined || origin.protocol === "http:";
  const { ca, ...own } = connection.tls ?? {};
  const tls = { ...place, ...own, ...(ca && { ca: [...ca] }), rejectUnauthorized: false };
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = isPlain ? connect(place) : connectByTls({ ...tls, ...name });
  try {
    await once(socket, isPlain ? "connect" : "secureConnect", { signal: AbortSignal.timeout(5000) });
    return socket;
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
  const { name, code = error } = Object(error);
  return name === "AbortError" ? "ETIMEDOUT" : String(code);
}

/** Every check, after those that it needs. They log in and out, and read a list. */
export function checksOf(settings: Settings, terminal: Terminal): readonly Check[] & AsyncDisposable {
  const { baseUrl, authUrl, realm, username, gatewayId, signingKey } = settings;
  let client: CrossBorderClient;
  let connection: Connection;
  let spki: Uint8Array;
  /** The service's first response. */
  let response: { readonly headers: Readonly<Record<string, string>> } | undefined;
  let refusal: unknown;
  const places = Object.entries({ service: baseUrl, "identity provider": authUrl }).filter(
    ([name, url]) => name === "service" || originOf(url) !== originOf(baseUrl),
  );
  const checks: Check[] = [
    {
      // Before anything is shown, since it may ask for a passphrase.
      name: "signing key",
      async run() {
        if (signingKey === undefined) return skipped("there is no signingKey");
        try {
          const key = await withPassphrase(await readFile(signingKey, "utf8"), signingKey, terminal);
          spki = parseSigningKey(key).spki();
        } catch (error) {
          return failed(error, "generate one with cross-border keys generate, or name another file");
        }
        return ok(`${signingKey} has a private RSA key, fingerprint ${sha256Hex(spki)}`);
      },
    },
    {
      name: "configuration",
      async run() {
        client = await openClient(settings, terminal, { maxRetries: 0 });
        connection = await readConnection(settings, terminal.env);
        return ok(`${baseUrl}, realm ${realm} at ${authUrl}`);
      },
    },
    {
      name: "proxy",
      needs: ["configuration"],
      async run() {
        const found = [baseUrl, authUrl].flatMap((text) => {
          const [url, proxy] = [new URL(text), connection.proxyFor(new URL(text))];
          return proxy === undefined ? [] : [`${url.host} through ${proxy.protocol}//${proxy.host}`];
        });
        return ok(found.join(", ") || "none");
      },
    },
    ...places.flatMap(([name, url]): Check[] => [
      { name: `${name} DNS`, needs: ["configuration"], run: () => checkName(new URL(url), connection) },
      { name: `${name} connection`, needs: [`${name} DNS`], run: () => checkConnection(new URL(url), connection) },
    ]),
    {
      name: "login",
      needs: places.map(([name]) => `${name} connection`),
      async run() {
        try {
          ({ response } = await client.paymentGateways.list({ size: 1 }).withResponse());
        } catch (error) {
          if (error instanceof TokenError) throw error;
          refusal = error;
          if (error instanceof ApiError) response = error.response;
        }
        return ok(`${username} can log in to the realm ${realm}`);
      },
    },
    {
      name: "read access",
      needs: ["login"],
      run: async () => (refusal === undefined ? ok("payment gateways can be listed") : failed(refusal)),
    },
    {
      name: "clock",
      needs: ["login"],
      run: async () => (response === undefined ? skipped("there is no response") : checkClock(response.headers.date)),
    },
    {
      name: "registered key",
      needs: ["signing key", "read access"],
      run: async () =>
        gatewayId === undefined ? skipped("there is no gatewayId") : checkRegistered(client, gatewayId, spki),
    },
  ];
  return Object.assign(checks, { [Symbol.asyncDispose]: async () => client?.close() });
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

/** Tokens, certificates, and searches for payments depend on the time. */
function checkClock(date = ""): Result {
  const remedy = "set this machine's clock by NTP";
  const aheadMs = clock.wallMs() - Date.parse(date);
  if (Number.isNaN(aheadMs)) return { status: "warning", found: "the service doesn't send its time", remedy };
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (seconds <= 5) return ok("this machine's clock and the service's agree within 5 s");
  const found = `this machine's clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the service's`;
  return { status: seconds > 60 ? "failed" : "warning", found, remedy };
}

async function checkRegistered(client: CrossBorderClient, gatewayId: string, spki: Uint8Array): Promise<Result> {
  const register = "register the public half: cross-border keys show prints rsaPublicKeyBase64";
  const listed: string[] = [];
  for await (const { institutionId, rsaPublicKeyBase64 } of client.paymentGateways.list()) {
    if (listed.length < 5) listed.push(institutionId);
    if (institutionId !== gatewayId) continue;
    const registered = parsePublicKey(rsaPublicKeyBase64).spki();
    if (Buffer.from(registered).equals(spki)) return ok(`the public half is registered for ${gatewayId}`);
    const other = `another key is registered for ${gatewayId}, fingerprint ${sha256Hex(registered)}`;
    return failed(other, `${register}; or use the private key that belongs to it`);
  }
  const remedy = "check gatewayId (the institutionId), and whether the user may see it";
  return failed(`no gateway ${gatewayId} is listed. Listed: ${listed.join(", ") || "none"}`, remedy);
}
