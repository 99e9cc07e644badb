import { createPrivateKey } from "node:crypto";
import { createSecureServer } from "node:http2";
import { createServer, type ServerOptions } from "node:https";
import { rootCertificates, type TLSSocket } from "node:tls";
import { inspect } from "node:util";
import {
  type ClientOptions,
  ConfigError,
  ConnectionError,
  CrossBorderClient,
  type TlsOptions,
  TokenError,
} from "cross-border-payments";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { certificates } from "../faults/certificates.js";
import { thrownBy } from "../signing/test-keys.js";
import { originInTest } from "../support/origin-of.js";

const { authority, good, wrongHost, selfSigned } = certificates();
const passphrase = "the-passphrase";

interface Seen {
  readonly target: string;
  readonly clientCertificate: string | undefined;
  readonly servername: string | false | null | undefined;
}

/** The service and its token endpoint over TLS, which notes how each request came. */
async function startServer(
  options: ServerOptions,
): Promise<{ readonly origin: string; readonly seen: readonly Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(options, (request, response) => {
    const socket = request.socket as TLSSocket & { readonly servername?: string | false };
    seen.push({
      target: request.url ?? "",
      clientCertificate: socket.getPeerCertificate()?.subject?.CN as string | undefined,
      servername: socket.servername,
    });
    const isLogin = request.url?.endsWith("/token");
    response.end(JSON.stringify(isLogin ? { access_token: "t", token_type: "Bearer", expires_in: 60 } : { id: "1" }));
  });
  server.on("tlsClientError", () => {});
  onTestFinished(() => server.closeAllConnections());
  return { origin: await originInTest(server, "https"), seen };
}

function clientOf(
  origin: string,
  tls: TlsOptions | undefined,
  options: Partial<ClientOptions> = {},
): CrossBorderClient {
  const client = new CrossBorderClient({
    baseUrl: origin,
    auth: { authUrl: origin, realm: "r", clientId: "c", username: "u", password: "p" },
    tls,
    maxRetries: 0,
    timeoutMs: 15_000,
    ...options,
  });
  onTestFinished(() => client.close().catch(() => {}));
  return client;
}

const withToken = { auth: { accessToken: () => "t" } };
const encrypted = String(
  createPrivateKey(good.key).export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase }),
);
const mutual = { ...good, ca: authority, requestCert: true, rejectUnauthorized: true };
const bytes = (text: string) => new TextEncoder().encode(text);

describe("a private authority", () => {
  it.each<[string, TlsOptions["ca"]]>([
    ["one of a bundle", `# ours\n${selfSigned.cert}\n${authority}`],
    ["one beside the well-known ones", [...rootCertificates, bytes(authority)]],
  ])("is trusted by the service's connection and the token endpoint's: %s", async (_, ca) => {
    const server = await startServer(good);
    await clientOf(server.origin, { ca }).paymentIntents.get("1");
    expect(server.seen.map(({ target }) => target)).toEqual([
      "/auth/realms/r/protocol/openid-connect/token",
      "/payment-intents/1",
    ]);
  });

  it.each([undefined, { ca: selfSigned.cert }])(
    "is not trusted without the option, nor beside another",
    async (tls) => {
      const server = await startServer(good);
      await expect(clientOf(server.origin, tls).paymentIntents.get("1")).rejects.toThrow(TokenError);
      const call = clientOf(server.origin, tls, withToken).paymentIntents.get("1");
      await expect(call).rejects.toMatchObject({ code: "connection_untrusted", effect: "none" });
      expect(server.seen).toEqual([]);
    },
  );

  it("says nothing about the host, which servername does", async () => {
    const server = await startServer(wrongHost);
    const call = clientOf(server.origin, { ca: authority }, withToken).paymentIntents.get("1");
    await expect(call).rejects.toMatchObject({ code: "connection_untrusted", effect: "none" });
    const named = clientOf(server.origin, { ca: authority, servername: "elsewhere.test" });
    await named.paymentIntents.get("1");
    expect(server.seen.map(({ servername }) => servername)).toEqual(["elsewhere.test", "elsewhere.test"]);
  });

  it("leaves the client at HTTP/1.1, which repeats no request by itself", async () => {
    const server = createSecureServer({ ...good, allowHTTP1: true }, (_, response) => void response.end('{"id":"1"}'));
    const alpn: unknown[] = [];
    server.on("secureConnection", (socket: TLSSocket) => alpn.push(socket.alpnProtocol));
    const client = clientOf(await originInTest(server, "https"), { ca: authority }, withToken);
    await client.paymentIntents.get("1");
    await client.close();
    expect(alpn).toEqual(["http/1.1"]);
  });
});

describe("mutual TLS", () => {
  it.each<[string, TlsOptions]>([
    ["a chain and an encrypted key", { cert: good.cert + authority, key: encrypted, passphrase }],
    ["bytes", { cert: bytes(good.cert), key: bytes(good.key) }],
    ["lost line breaks", { cert: good.cert.replaceAll("\n", "\\n"), key: good.key.replaceAll("\n", " ") }],
    ["certificate and key in one file", { cert: good.cert + good.key, key: good.cert + good.key }],
  ])("shows the client's certificate to the service and to the token endpoint: %s", async (_, own) => {
    const server = await startServer(mutual);
    await clientOf(server.origin, { ca: authority, ...own }).paymentIntents.get("1");
    expect(server.seen.map(({ clientCertificate }) => clientCertificate)).toEqual(["good", "good"]);
  });

  it("is missed by a server of TLS 1.3, which closes the connection without a word", async () => {
    const server = await startServer(mutual);
    const call = clientOf(server.origin, { ca: authority }, withToken).payments.list();
    await expect(call).rejects.toMatchObject({ code: "connection_failed", effect: "none" });
    expect(server.seen).toEqual([]);
  });
});

describe("tls that can't be used", () => {
  const refusal = (tls: unknown, options: Partial<ClientOptions> = {}) =>
    thrownBy(() => clientOf("https://service.test", tls as TlsOptions, options)) as ConfigError;

  const badAuthority = "tls.ca must be certificates in PEM (BEGIN CERTIFICATE).";
  const badIdentity = "tls.cert and tls.key can't be used (ERR_OSSL_";

  it.each<[string, unknown, string]>([
    ["text", authority, "tls: it must be an object; got a string"],
    ["another option", { rejectUnauthorized: false }, 'tls: unknown option "rejectUnauthorized"'],
    ["a certificate alone", { cert: good.cert }, "tls.cert and tls.key go together"],
    [
      "a number",
      { ca: [authority, 7] },
      "tls: ca must be a certificate in PEM (BEGIN CERTIFICATE), or an array of them",
    ],
    [
      "a number for a key",
      { ...good, key: 7 },
      "tls: key must be a private key in PEM (BEGIN PRIVATE KEY); got a number",
    ],
    ["an empty passphrase", { ...good, passphrase: "" }, "tls: passphrase must be a string that is not empty"],
    ["an empty name", { servername: "" }, "tls: servername must be a host name"],
    ["a path in an array", { ca: [authority, "/etc/ssl/ca.pem"] }, badAuthority],
    ["a key as authority", { ca: good.key }, badAuthority],
    ["a path for a key", { cert: good.cert, key: "/etc/ssl/key.pem" }, badIdentity],
    ["another's key", { cert: good.cert, key: wrongHost.key }, badIdentity],
    ["no passphrase", { cert: good.cert, key: encrypted }, badIdentity],
    ["a wrong passphrase", { cert: good.cert, key: encrypted, passphrase: "x" }, badIdentity],
  ])("is refused as the client is built, without a word of it: %s", (_, tls, message) => {
    const error = refusal(tls);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.message).toContain(message);
    const shown = inspect(error, { showHidden: true, depth: 10 });
    for (const secret of linesOf(good.key, encrypted, wrongHost.key)) expect(shown).not.toContain(secret);
    expect(error.message).not.toContain("MII");
  });

  it("is refused beside what it can have no effect on", () => {
    const dispatcher = new Agent();
    onTestFinished(() => dispatcher.close());
    const tls = { ca: authority };
    expect(refusal(tls, { dispatcher }).message).toMatch(/^tls and dispatcher exclude each other: .*connect/);
    expect(refusal(tls, { fetch: globalThis.fetch }).message).toMatch(/^tls and fetch exclude each other: /);
  });
});

it("is not shown by a client, nor by the error of a connection", async () => {
  const server = await startServer({ ...wrongHost, ca: authority, requestCert: true, rejectUnauthorized: true });
  const client = clientOf(server.origin, { ca: authority, cert: good.cert, key: encrypted, passphrase }, withToken);
  const error: unknown = await client.paymentIntents.get("1").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConnectionError);
  for (const value of [client, error]) {
    const shown = inspect(value, { showHidden: true, depth: 20 });
    for (const secret of [passphrase, ...linesOf(good.key, encrypted)]) expect(shown).not.toContain(secret);
  }
});

function linesOf(...pems: readonly string[]): string[] {
  return pems.flatMap((pem) => pem.split("\n").filter((line) => /^[\w+/=]{20,}$/.test(line)));
}

it("is refused on the web, which has no sockets", async () => {
  vi.resetModules();
  // The files after this one are not on the web.
  onTestFinished(() => void vi.resetModules());
  vi.doMock("#platform", () => import("../../src/platform/web.js"));
  const onWeb = await import("../../src/wire/tls.js");
  vi.doUnmock("#platform");
  const said = "tls needs the sockets of Node; here requests go by fetch, which uses the platform's certificates";
  expect(() => onWeb.parseTlsOptions({ ca: authority })).toThrow(said);
});
