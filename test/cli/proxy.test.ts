import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CrossBorderClient } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { openProxyDispatcher } from "../../src/settings/connection.js";
import { readSettings } from "../../src/settings/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest, originOf } from "../support/origin-of.js";
import { stretched } from "../support/patience.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { openClosedPort } from "../wire/closed-port.js";
import { settingsOf } from "./gateway-fixture.js";
import { run } from "./run.js";

// Names that no name server knows: only the proxy leads there.
const [service, identity] = ["service.bank.invalid", "id.bank.invalid"];
const proxyUser = "teller:s3cret of the proxy";
const folder = temporaryFolder();
let sandbox: SandboxServer;
let bank: Server;
let proxy: Server;
let proxyUrl: string;
/** What was asked of the proxy since `reset`. */
let asked: string[] = [];
/** Names of the certificates that the bank was shown. */
let shown: string[] = [];
const file = (name: string) => join(folder, name);

function openssl(...line: readonly string[]): void {
  execFileSync("openssl", line, { cwd: folder, stdio: "ignore" });
}

const newKey = ["-newkey", "rsa:2048", "-nodes", "-keyout"];

function issue(name: string, names: string): void {
  writeFileSync(file(`${name}.ext`), `subjectAltName=${names}\n`);
  openssl("req", ...newKey, `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
  const by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", `${name}.ext`];
  openssl("x509", "-req", "-in", `${name}.csr`, "-out", `${name}.pem`, ...by);
}

beforeAll(async () => {
  openssl("req", "-x509", ...newKey, "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA");
  issue("server", `DNS:${service},DNS:${identity}`);
  issue("gateway", "DNS:gateway.bank.invalid");
  sandbox = await startSandbox({ basePath: "/gateway/v1" });
  const keys = signingKeysOf("gateway");
  writeFileSync(file("signing.pem"), keys.privateKey);
  await using client = new CrossBorderClient(sandbox.clientOptions);
  await client.paymentGateways.create({
    ...{ institutionId: "alpha-bank", currency: "EUR", rsaPublicKeyBase64: keys.publicKeyBase64 },
  });
  const read = (name: string) => readFileSync(file(name));
  const mutual = { requestCert: true, rejectUnauthorized: true, ca: read("ca.pem") };
  bank = createSecureServer(
    { ...mutual, key: read("server.key"), cert: read("server.pem") },
    async (request, response) => {
      shown.push(String((request.socket as TLSSocket).getPeerCertificate().subject.CN));
      const body: Buffer[] = [];
      for await (const chunk of request) body.push(chunk);
      const { method = "GET", url } = request;
      const headers = new Headers(
        Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
          /^(authorization|content-type)$/.test(name) ? [[name, String(value)]] : [],
        ),
      );
      const sent = body.length === 0 ? {} : { body: Buffer.concat(body) };
      const answer = await fetch(sandbox.url + url, { method, headers, ...sent });
      response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
    },
  );
  const { port: bankPort } = new URL(await originOf(bank));
  proxy = createServer((_, response) => response.writeHead(405).end());
  proxy.on("connect", ({ url = "", headers }, socket) => {
    asked.push(url);
    const expected = `Basic ${Buffer.from(proxyUser).toString("base64")}`;
    if (headers["proxy-authorization"] !== expected) {
      socket.end("HTTP/1.1 407 Refused\r\nproxy-authenticate: Basic\r\n\r\n");
      return;
    }
    const onward = connect(Number(bankPort), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    for (const each of [onward, socket]) each.on("error", () => onward.destroy());
    socket.on("close", () => onward.destroy());
  });
  const [user = "", password = ""] = proxyUser.split(":");
  const { host } = new URL(await originOf(proxy));
  proxyUrl = `http://${user}:${encodeURIComponent(password)}@${host}`;
  writeFileSync(file("settings.json"), JSON.stringify(settings()));
});
afterAll(async () => {
  await sandbox.close();
  for (const server of [bank, proxy]) server.close();
});

function settings(): Record<string, string> {
  return {
    ...settingsOf(sandbox),
    ...{ baseUrl: `https://${service}/gateway/v1`, authUrl: `https://${identity}`, gatewayId: "alpha-bank" },
    // Relative to the folder of the file.
    ...{ signingKey: "signing.pem", ca: "ca.pem", cert: "gateway.pem", key: "gateway.key" },
  };
}

const viaProxy = (...line: readonly string[]) => {
  [asked, shown] = [[], []];
  return run([...line, "--config", file("settings.json")], { env: { CROSS_BORDER_PROXY: proxyUrl } });
};

describe("through a proxy, with mutual TLS", () => {
  const isReached = () => {
    expect(new Set(asked)).toEqual(new Set([`${service}:443`, `${identity}:443`]));
    expect(new Set(shown)).toEqual(new Set(["gateway"]));
  };

  it("the doctor finds nothing wrong", async () => {
    const { code, stdout } = await viaProxy("doctor", "--json");
    const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string; found: string }[] };
    expect([code, findings.filter(({ status }) => status !== "ok")]).toEqual([0, []]);
    const way = `through http://${new URL(proxyUrl).host}`;
    expect(findings[2]).toEqual({ check: "proxy", status: "ok", found: `${service} ${way}, ${identity} ${way}` });
    expect(stdout).not.toContain("s3cret");
    isReached();
  });

  it.each([["payments"], ["payments", "--from", "yesterday"], ["payment-gateways"]])(
    "%s are listed",
    async (...line) => {
      const [name = "", ...more] = line;
      const { code, stdout, stderr } = await viaProxy(name, "list", ...more);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout.includes("alpha-bank")).toBe(name === "payment-gateways");
      isReached();
    },
  );

  it("a program has the same settings", async () => {
    [asked, shown] = [[], []];
    const env = { CROSS_BORDER_CONFIG: file("settings.json"), HTTPS_PROXY: proxyUrl };
    await using client = new CrossBorderClient(await readSettings({ env }));
    expect((await client.paymentGateways.list()).items).toHaveLength(1);
    isReached();
  });
});

it.each<[code: number, said: string, line: string[], env: (url: string) => object]>([
  [
    3,
    `the proxy made no connection to https://${identity}`,
    ["payments", "list"],
    (url) => ({ CROSS_BORDER_PROXY: url.replace("s3cret", "wr0ng") }),
  ],
  [1, "made no connection", ["doctor"], (url) => ({ HTTPS_PROXY: url.replace("s3cret", "wr0ng") })],
  [1, "HTTPS_PROXY must be the address of a proxy", ["doctor"], () => ({ HTTPS_PROXY: "ftp://s3cret@x" })],
  [2, "Give it in CROSS_BORDER_PROXY", ["doctor", "--proxy", "http://teller:s3cret@x"], () => ({})],
  ...[
    "http:/teller:s3cret@proxy.invalid:3128",
    "http://proxy.invalid/s3cret.pac",
    "http://teller:100%25s3cret%@proxy.invalid:3128",
    "http://te%ller@proxy.invalid",
  ].map((url): [number, string, string[], () => object] => [
    3,
    "proxy must be the address of a proxy, such as http://proxy.example:3128",
    ["payments", "list"],
    () => ({ CROSS_BORDER_PROXY: url }),
  ]),
])("ends with %i and says what is wrong, and never the password: %s", async (code, said, line, envOf) => {
  asked = [];
  const result = await run([...line, "--config", file("settings.json")], { env: envOf(proxyUrl) });
  expect([result.code, result.stdout + result.stderr]).toEqual([code, expect.stringContaining(said)]);
  expect(result.stdout + result.stderr).not.toMatch(/wr0ng|s3cret|teller|te%ller/);
  // No second try, which a lock of the account could count.
  if (line[0] === "payments") expect(new Set(asked).size).toBe(asked.length);
});

describe("has sent nothing of a payment if a proxy", () => {
  /** What becomes of a deposit by this proxy. */
  async function deposit(url: string): Promise<unknown> {
    const dispatcher = await openProxyDispatcher({ url: new URL(url), isForHttp: true, noProxy: "" }, {});
    onTestFinished(() => dispatcher.close());
    await using client = new CrossBorderClient({
      ...{ baseUrl: "http://127.0.0.1:9", auth: { accessToken: () => "token" }, maxRetries: 0, dispatcher },
      ...{ timeoutMs: stretched(500), signingKey: signingKeysOf("gateway").privateKey },
    });
    const fields = { amount: "1.00", currency: "EUR", paymentGatewayId: "alpha-bank" };
    return client.liquidityProviders
      .deposits("1")
      .create(fields)
      .catch((error: unknown) => error);
  }

  it.each<[what: string, answer: (socket: Socket) => void, failure: object]>([
    ["says 407", (socket) => socket.end("HTTP/1.1 407 No\r\n\r\n"), { code: "proxy_refused", attempts: 1 }],
    ["says 503", (socket) => socket.end("HTTP/1.1 503 No\r\n\r\n"), { code: "proxy_refused", attempts: 1 }],
    ["closes the connection", (socket) => socket.destroy(), { code: "timeout" }],
    ["says nothing", () => {}, { code: "timeout" }],
  ])("%s in place of an answer to CONNECT", async (_, answer, failure) => {
    const onSocket = (socket: Socket) => void socket.on("error", () => {}).once("data", () => answer(socket));
    expect(await deposit(await originInTest(createTcpServer(onSocket)))).toMatchObject({ effect: "none", ...failure });
  });

  it("is not at its address", async () => {
    const { port, close } = await openClosedPort();
    onTestFinished(close);
    const failure = { code: "connection_failed", effect: "none" };
    expect(await deposit(`http://127.0.0.1:${port}`)).toMatchObject(failure);
  });
});

describe("settings without a name", () => {
  const env = (more: object = {}) => ({ HOME: file("home"), HTTPS_PROXY: proxyUrl, ...more });
  const store = (name: string, more: object = {}, mode = 0o600) => {
    mkdirSync(file("home/.config/cross-border"), { recursive: true });
    const path = file(`home/.config/cross-border/${name}.json`);
    const tls = { ca: file("ca.pem"), cert: file("gateway.pem"), key: file("gateway.key") };
    writeFileSync(path, JSON.stringify({ ...settings(), signingKey: file("signing.pem"), ...tls, ...more }));
    chmodSync(path, mode);
  };

  it("are the default's, or those of a profile", async () => {
    store("default");
    store("test", { realm: "elsewhere" });
    const list = ["payment-gateways", "list"];
    const test = { CROSS_BORDER_PROFILE: "test" };
    expect((await run(list, { env: env() })).code).toBe(0);
    expect((await run([...list, "--config", file("settings.json")], { env: env(test) })).code).toBe(0);
    for (const [more, line] of [
      [test, []],
      [{}, ["--profile", "test"]],
    ] as const) {
      const { code, stderr } = await run([...list, ...line], { env: env(more) });
      expect([code, stderr]).toEqual([3, expect.stringContaining("Check authUrl and realm")]);
    }
    expect(await readSettings({ env: env() })).toMatchObject({ baseUrl: settings().baseUrl });
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
  const key = signingKeysOf("gateway").privateKey;
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
