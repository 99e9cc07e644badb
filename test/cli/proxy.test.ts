import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CrossBorderClient } from "../../src/index.js";
import { openProxyDispatcher } from "../../src/settings/connection.js";
import { readSettings } from "../../src/settings/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest, originOf } from "../support/origin-of.js";
import { stretched } from "../support/patience.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { openClosedPort } from "../wire/closed-port.js";
import { run } from "./run.js";

// Names that no name server knows: only the proxy leads there.
const [service, identity] = ["service.bank.invalid", "id.bank.invalid"];
const folder = temporaryFolder();
const file = (name: string) => join(folder, name);
const keys = signingKeysOf("gateway");
/** A service that needs mutual TLS, behind a proxy that needs a password. */
let servers: readonly Server[];
let proxyUrl: string;
/** What was asked of the proxy, and names of the certificates that the service was shown. */
let asked: string[] = [];
let shown: string[] = [];

const settings = {
  ...{ baseUrl: `https://${service}/gateway/v1`, authUrl: `https://${identity}`, realm: "r", clientId: "c" },
  ...{ username: "alpha", password: "p", gatewayId: "alpha-bank" },
  // Relative to the folder of the file.
  ...{ signingKey: "signing.pem", ca: "service.pem", cert: "gateway.pem", key: "gateway.key" },
};

beforeAll(async () => {
  for (const [name, names] of [
    ["service", `DNS:${service},DNS:${identity}`],
    ["gateway", "DNS:gateway.bank.invalid"],
  ] as const) {
    const made = ["-newkey", "rsa:2048", "-nodes", "-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
    const subject = ["-days", "30", "-subj", `/CN=${name}`, "-addext", `subjectAltName=${names}`];
    execFileSync("openssl", ["req", "-x509", ...made, ...subject], { stdio: "ignore" });
  }
  writeFileSync(file("signing.pem"), keys.privateKey);
  writeFileSync(file("settings.json"), JSON.stringify(settings));
  const [key, cert, ca] = ["service.key", "service.pem", "gateway.pem"].map((name) => readFileSync(file(name)));
  const mutual = { requestCert: true, rejectUnauthorized: true };
  const bank = createSecureServer({ ...mutual, key, cert, ca }, ({ url = "", socket }, response) => {
    shown.push(String((socket as TLSSocket).getPeerCertificate().subject.CN));
    const token = { access_token: "t", token_type: "Bearer", expires_in: 300 };
    const gateway = { id: "1", institutionId: "alpha-bank", rsaPublicKeyBase64: keys.publicKeyBase64 };
    const body = url.endsWith("/token") ? token : url.includes("/payment-gateways") ? [gateway] : [];
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  const { port } = new URL(await originOf(bank));
  const proxy = createServer((_, response) => response.writeHead(405).end());
  proxy.on("connect", ({ url = "", headers }, socket) => {
    asked.push(url);
    if (headers["proxy-authorization"] !== `Basic ${btoa("teller:s3cret of the proxy")}`) {
      return void socket.end("HTTP/1.1 407 Refused\r\nproxy-authenticate: Basic\r\n\r\n");
    }
    const onward = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    for (const each of [onward, socket]) each.on("error", () => onward.destroy());
    socket.on("close", () => onward.destroy());
  });
  proxyUrl = (await originOf(proxy)).replace("//", `//teller:${encodeURIComponent("s3cret of the proxy")}@`);
  servers = [bank, proxy];
});
afterAll(() => {
  for (const server of servers) server.close();
});

it("leads everything through a proxy, with mutual TLS: doctor, lists, and a program with the same settings", async () => {
  const env = { CROSS_BORDER_CONFIG: file("settings.json"), HTTPS_PROXY: proxyUrl };
  const program = async () => {
    await using client = new CrossBorderClient(await readSettings({ env }));
    return { code: 0, stdout: JSON.stringify((await client.paymentGateways.list()).items), stderr: "" };
  };
  for (const act of [
    () => run(["doctor", "--json"], { env }),
    () => run(["payment-gateways", "list"], { env }),
    () => run(["payments", "list", "--from", "yesterday"], { env }),
    program,
  ]) {
    [asked, shown] = [[], []];
    const { code, stdout, stderr } = await act();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).not.toContain("s3cret");
    expect(new Set(asked)).toEqual(new Set([`${service}:443`, `${identity}:443`]));
    expect(new Set(shown)).toEqual(new Set(["gateway"]));
    const way = `through http://${new URL(proxyUrl).host}`;
    if (stdout.includes("isWell")) expect(stdout).toContain(`${service} ${way}, ${identity} ${way}`);
  }
});

it.each<[code: number, said: string, line: string, env: object]>([
  [3, `the proxy made no connection to https://${identity}`, "payments list", {}],
  [1, "made no connection", "doctor", {}],
  [1, "proxy must be the address of a proxy", "doctor", { CROSS_BORDER_PROXY: "ftp://wr0ng@x" }],
  [2, "Give it in CROSS_BORDER_PROXY", "doctor --proxy http://teller:wr0ng@x", {}],
  ...[
    "http:/teller:wr0ng@proxy.invalid:3128",
    "http://proxy.invalid/wr0ng.pac",
    "http://teller:100%25wr0ng%@proxy.invalid:3128",
    "http://te%ller@proxy.invalid",
  ].map((url): [number, string, string, object] => [
    3,
    "proxy must be the address of a proxy, such as http://proxy.example:3128",
    "payments list",
    { CROSS_BORDER_PROXY: url },
  ]),
])("ends with %i and says what is wrong, and never the password: %s", async (code, said, line, more) => {
  asked = [];
  const env = { CROSS_BORDER_PROXY: proxyUrl.replace("s3cret", "wr0ng"), ...more };
  const result = await run([...line.split(" "), "--config", file("settings.json")], { env });
  expect([result.code, result.stdout + result.stderr]).toEqual([code, expect.stringContaining(said)]);
  expect(result.stdout + result.stderr).not.toMatch(/wr0ng|s3cret|teller|te%ller/);
  // No second try, which a lock of the account could count.
  if (line.startsWith("payments")) expect(new Set(asked).size).toBe(asked.length);
});

it.each<[what: string, answer: ((socket: Socket) => void) | undefined, failure: object]>([
  ["says 407", (socket) => socket.end("HTTP/1.1 407 No\r\n\r\n"), { code: "proxy_refused", attempts: 1 }],
  ["says 503", (socket) => socket.end("HTTP/1.1 503 No\r\n\r\n"), { code: "proxy_refused", attempts: 1 }],
  ["closes the connection", (socket) => socket.destroy(), { code: "timeout" }],
  ["says nothing", () => {}, { code: "timeout" }],
  ["isn't there", undefined, { code: "connection_failed" }],
])("has sent nothing of a payment if a proxy %s in place of an answer to CONNECT", async (_, answer, failure) => {
  const onSocket = (socket: Socket) => void socket.on("error", () => {}).once("data", () => answer?.(socket));
  const closed = await openClosedPort();
  onTestFinished(() => closed.close());
  const nowhere = `http://127.0.0.1:${closed.port}`;
  const url = new URL(answer === undefined ? nowhere : await originInTest(createTcpServer(onSocket)));
  const dispatcher = await openProxyDispatcher({ url, isForHttp: true, noProxy: "" }, {});
  onTestFinished(() => dispatcher.close());
  await using client = new CrossBorderClient({
    ...{ baseUrl: "http://127.0.0.1:9", auth: { accessToken: () => "token" }, maxRetries: 0, dispatcher },
    ...{ timeoutMs: stretched(500), signingKey: keys.privateKey },
  });
  const fields = { amount: "1.00", currency: "EUR", paymentGatewayId: "alpha-bank" };
  const failed = client.liquidityProviders.deposits("1").create(fields);
  await expect(failed).rejects.toMatchObject({ effect: "none", ...failure });
});

describe("settings without a name", () => {
  const env = (more: object = {}) => ({ HOME: file("home"), HTTPS_PROXY: proxyUrl, ...more });
  const store = (name: string, more: object = {}, mode = 0o600) => {
    mkdirSync(file("home/.config/cross-border"), { recursive: true });
    const path = file(`home/.config/cross-border/${name}.json`);
    const tls = { ca: file("service.pem"), cert: file("gateway.pem"), key: file("gateway.key") };
    writeFileSync(path, JSON.stringify({ ...settings, signingKey: file("signing.pem"), ...tls, ...more }));
    chmodSync(path, mode);
  };

  it("are the default's, or those of a profile", async () => {
    store("default");
    store("test", { proxy: "ftp://x" });
    const list = ["payment-gateways", "list"];
    const test = { CROSS_BORDER_PROFILE: "test" };
    expect((await run(list, { env: env() })).code).toBe(0);
    expect((await run([...list, "--config", file("settings.json")], { env: env(test) })).code).toBe(0);
    for (const [more, line] of [
      [test, []],
      [{}, ["--profile", "test"]],
    ] as const) {
      const { code, stderr } = await run([...list, ...line], { env: env(more) });
      expect([code, stderr]).toEqual([3, expect.stringContaining("proxy must be the address")]);
    }
    expect(await readSettings({ env: env() })).toMatchObject({ baseUrl: settings.baseUrl });
  });

  it.each<[said: string | RegExp, source: object]>([
    [/ENOENT.*none\.json/, { profile: "none" }],
    ["a profile's name has letters", { profile: "../x" }],
    ["exclude each other", { profile: "a", config: "b" }],
    ['unknown option "profil". Did you mean "profile"?', { profil: "staging" }],
    ["config must be a string that is not empty; got an empty string", { config: "" }],
  ])("are refused: %s", async (said, source) => {
    await expect(readSettings({ env: env(), ...source })).rejects.toThrow(said);
  });

  it.each([0o640, 0o604, 0o620])("are refused where others can read or change them: %o", async (mode) => {
    store("default", {}, mode);
    await expect(readSettings({ env: env() })).rejects.toThrow("chmod 600 ");
    store("default");
  });

  it("name what is missing", async () => {
    const some = { HOME: file("nobody"), CROSS_BORDER_REALM: "r", CROSS_BORDER_PASSWORD: "s3cret" };
    await expect(readSettings({ env: some })).rejects.toThrow(
      "settings are missing: baseUrl (CROSS_BORDER_BASE_URL), authUrl (CROSS_BORDER_AUTH_URL), clientId (CROSS_BORDER_CLIENT_ID), username (CROSS_BORDER_USERNAME). Set",
    );
  });
});

describe.each(["SIGNING_KEY", "CA", "CERT", "KEY", "CONFIG", "JOURNAL"])("of %s in the place of its file", (name) => {
  const key = keys.privateKey;
  const base64 = Buffer.from(key).toString("base64");
  const password = "p4f1c7a2b9e8d3";
  const keyLine = key.split("\n")[1] ?? "";

  it.each<[what: string, content: string, secret: string]>([
    ["a key", key, keyLine],
    ["a key on one line", key.trim().replaceAll("\n", "\\n"), keyLine],
    ["a key without its frame", key.trim().split("\n").slice(1, -1).join(""), keyLine],
    ["the beginning of a key in Base64", base64.slice(0, 200), base64.slice(20, 60)],
    ["settings", JSON.stringify({ username: "alpha", password }), password],
    ["an address in quotes", `"postgres://bank:${password}@db/bank"`, password],
    ["words", `host=db user=bank password=${password}`, password],
  ])("nothing is shown: %s", async (_, content, secret) => {
    const env = { CROSS_BORDER_CONFIG: file("settings.json"), [`CROSS_BORDER_${name}`]: content };
    const { code, stdout, stderr } = await run(name === "JOURNAL" ? ["flows", "list"] : ["doctor"], { env });
    expect(code).not.toBe(0);
    expect(stdout + stderr).not.toContain(secret);
    if (name === "JOURNAL") return;
    const error = await readSettings({ env }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid_config", message: expect.stringMatching(/ENOENT|ENAMETOOLONG/) });
    const values = Object.values(Object.getOwnPropertyDescriptors(error)).map(({ value }) => value?.stack ?? value);
    expect(values.join()).not.toContain(secret);
  });
});
