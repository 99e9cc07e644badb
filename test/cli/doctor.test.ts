import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { clock, setClock } from "../../src/core/clock.js";
import { type SandboxOptions, type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { environmentOf, settingsOf } from "../support/environment.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest } from "../support/origin-of.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { openClosedPort } from "../wire/closed-port.js";
import { registeredClient, requestOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const folder = temporaryFolder();
const file = (name: string) => join(folder, name);
const { privateKey } = signingKeysOf("gateway");
let server: SandboxServer;

beforeAll(async () => {
  server = await startSandbox({ basePath: "/gateway/v1" });
  await (await registeredClient(server)).close();
  writeFileSync(file("key.pem"), privateKey);
  writeFileSync(file("other.pem"), signingKeysOf("stranger").privateKey);
  const encrypt = ["-topk8", "-in", file("key.pem"), "-out", file("secret.pem"), "-passout", "pass:open sesame"];
  execFileSync("openssl", ["pkcs8", ...encrypt], { stdio: "pipe" });
});
afterAll(() => server.close());

const settings = (more: object = {}): Record<string, string> => ({
  ...{ ...settingsOf(server.clientOptions), signingKey: file("key.pem"), gatewayId: "alpha-bank", ...more },
});

function doctor(more: object = {}, env: object = {}, ...line: readonly string[]) {
  writeFileSync(file("config.json"), JSON.stringify(settings(more)));
  return run(["doctor", "--config", file("config.json"), ...line], { env });
}

/** What is not ok, and every finding by its check. */
async function examined(more: object = {}, env: object = {}) {
  const { code, stdout, stderr } = await doctor(more, env, "--json");
  expect(stderr).toBe("");
  const { isWell, findings } = JSON.parse(stdout) as {
    readonly isWell: boolean;
    readonly findings: readonly { readonly check: string; readonly status: string; readonly found: string }[];
  };
  expect(code).toBe(isWell ? 0 : 1);
  for (const secret of [server.clientOptions.auth.password, privateKey.slice(40, 80)]) {
    expect(stdout).not.toContain(secret);
  }
  const wrong = findings.filter(({ status }) => /failed|warning/.test(status)).map(({ check }) => check);
  return { wrong, findings, found: Object.fromEntries(findings.map((one) => [one.check, one])) };
}

it("finds nothing wrong where nothing is, moves no money, and leaves no session", async () => {
  const earlier = server.sandbox.requests.length;
  const { wrong, findings } = await examined();
  expect([wrong, findings.map(({ check }) => check)]).toEqual([
    [],
    [
      ...["signing key", "configuration", "proxy", "service DNS", "service connection", "login"],
      ...["read access", "clock", "registered key"],
    ],
  ]);
  const requests = server.sandbox.requests.slice(earlier).map(({ method, path }) => `${method} ${path}`);
  const openId = `/auth/realms/${server.clientOptions.auth.realm}/protocol/openid-connect`;
  const list = "GET /gateway/v1/payment-gateways";
  expect(requests).toEqual([`POST ${openId}/token`, list, list, `POST ${openId}/logout`]);
});

it("prints a line a check, with what to do", async () => {
  const { code, stdout } = await doctor({ password: "wrong" });
  const varying = new RegExp(`${folder}|127\\.0\\.0\\.1:\\d+|(?<=fingerprint )\\w+|(?<=at )[\\d:]+(?= UTC)`, "g");
  expect(code).toBe(1);
  expect(stdout.replace(varying, "…")).toMatchInlineSnapshot(`
    "ok    signing key: …/key.pem has a private RSA key, fingerprint …
    ok    configuration: http://…/gateway/v1, realm sandbox at http://…
    ok    proxy: none
    ok    service DNS: 127.0.0.1 is an IP address
    ok    service connection: connected to … (http, not encrypted)
    FAIL  login: Login failed: http://…/auth/realms/sandbox/protocol/openid-connect/token rejected the credentials (401 invalid_grant). Check username and password; a locked account looks the same. Next attempt allowed at … UTC.
    skip  read access: it needs: login
    skip  clock: it needs: login
    skip  registered key: it needs: read access

    Some checks failed: see above.
    "
  `);
});

it.each<[what: string, more: () => object, wrong: string[], said?: string]>([
  ["an address that is none", () => ({ baseUrl: "hm" }), ["configuration"], "baseUrl"],
  [
    "an issuer in the place of the identity provider's address",
    () => ({ authUrl: `${server.url}/auth/realms/r` }),
    ["configuration"],
    "authUrl ends in /auth/realms/…",
  ],
  ["a password that ends with a line break", () => ({ password: "secret\n" }), ["configuration"], "a line break"],
  ["a name without an address", () => ({ baseUrl: "https://no-such-host.invalid/v1" }), ["service DNS"]],
  ["a password that is refused", () => ({ password: "wrong" }), ["login"], "(401 invalid_grant)"],
  ["a realm that is not there", () => ({ realm: "nowhere" }), ["login"], "Check authUrl and realm"],
  ["a base path that is not there", () => ({ baseUrl: `${server.url}/other` }), ["read access"], "404"],
  ["a key file that has no key", () => ({ signingKey: file("config.json") }), ["signing key"], "signingKey"],
  ["a key file that is not there", () => ({ signingKey: file("nowhere.pem") }), ["signing key"], "ENOENT"],
  ["a key without its passphrase", () => ({ signingKey: file("secret.pem") }), ["signing key"], "is encrypted"],
  [
    "a gateway that is not there",
    () => ({ gatewayId: "gamma" }),
    ["registered key"],
    "no gateway gamma is listed. Listed: alpha-bank, beta-mobile",
  ],
])("says what is wrong: %s", async (_, more, wrong, said = "") => {
  const { wrong: found, findings } = await examined(more());
  expect([found, JSON.stringify(findings)]).toEqual([wrong, expect.stringContaining(said)]);
});

it("opens an encrypted key with its passphrase", async () => {
  const env = { CROSS_BORDER_KEY_PASSPHRASE: "open sesame" };
  expect((await examined({ signingKey: file("secret.pem") }, env)).wrong).toEqual([]);
});

it("says where nothing listens, and skips what needs it", async () => {
  const closed = await openClosedPort();
  onTestFinished(() => closed.close());
  const { found } = await examined({ authUrl: `http://127.0.0.1:${closed.port}` });
  expect(found).toMatchObject({
    "identity provider connection": { status: "failed", found: expect.stringContaining("ECONNREFUSED") },
    login: { status: "skipped", found: "it needs: identity provider connection" },
    "registered key": { status: "skipped" },
  });
});

it("another key than the registered one", async () => {
  const der = execFileSync("openssl", ["pkey", "-in", file("other.pem"), "-pubout", "-outform", "DER"]);
  const digest = execFileSync("openssl", ["dgst", "-sha256", "-r"], { input: der, encoding: "utf8" });
  const { wrong, found } = await examined({ signingKey: file("other.pem") });
  expect(wrong).toEqual(["registered key"]);
  expect(found["signing key"]?.found).toContain(`fingerprint ${digest.split(" ")[0]}`);
  expect(found["registered key"]?.found).toContain("another key is registered for alpha-bank, fingerprint ");
});

it.each([
  [-600, "failed", "ahead of"],
  [20, "warning", "behind"],
  [undefined, "warning", "doesn't send its time"],
])("compares clocks: the service's is %s s ahead", async (seconds, status, said) => {
  const date = seconds === undefined ? "soon" : new Date(Date.now() + seconds * 1000).toUTCString();
  const origin = await originInTest(createServer((_, response) => response.writeHead(404, { date }).end()));
  const { found } = await examined({ baseUrl: `${origin}/v1` });
  expect(found.clock).toMatchObject({ status, found: expect.stringContaining(said) });
});

it.each([
  ["own-ca", "100", "localhost", false, "failed", /not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\), issued by own-ca/],
  ["own-ca", "100", "localhost", true, "ok", /^TLSv1\.3, certificate issued by own-ca, valid for another 99 days$/],
  ["own-ca", "5", "localhost", true, "warning", /valid for another 4 days/],
  ["own-ca", "100", "elsewhere.test", true, "failed", /ERR_TLS_CERT_ALTNAME_INVALID/],
])("judges a certificate of %s for %s days and %s, trusted: %s", async (name, days, host, isTrusted, status, said) => {
  const [key, cert] = [file("tls.key"), file("tls.crt")];
  const subject = ["-subj", `/O=${name}/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", days];
  execFileSync("openssl", [...made, ...subject], { stdio: "pipe" });
  const pair = { key: readFileSync(key), cert: readFileSync(cert) };
  const secure = createSecureServer(pair, (_, response) => response.writeHead(404).end());
  const { port } = new URL(await originInTest(secure));
  const { found } = await examined({ baseUrl: `https://localhost:${port}/v1`, ...(isTrusted && { ca: cert }) });
  expect(found["service connection"]).toMatchObject({ status, found: expect.stringMatching(said) });
});

describe("the settings", () => {
  it("come from options before the environment, and from that before the file", async () => {
    const { realm } = server.clientOptions.auth;
    const env = { CROSS_BORDER_GATEWAY_ID: "alpha-bank", CROSS_BORDER_REALM: "x" };
    const { code } = await doctor({ realm: "of the file", gatewayId: "of the file" }, env, "--realm", realm);
    expect(code).toBe(0);
  });

  it.each([
    [2, "baseUrl is missing. Give it as --base-url, in CROSS_BORDER_BASE_URL, in a file (--config)", "{}"],
    [3, "is not a JSON object of settings", "[]"],
    [3, 'unknown setting "passwort". The settings are baseUrl,', '{ "passwort": "x" }'],
    [3, "unknown setting of a name of 15 characters. The settings are baseUrl,", '{ "s3cr3t password": "x" }'],
    [3, "realm must be a string", '{ "realm": 1 }'],
  ])("are refused with %i: %s", async (code, said, text) => {
    writeFileSync(file("bad.json"), text);
    const result = await run(["doctor", "--config", file("bad.json")]);
    expect(result).toEqual({ code, stdout: "", stderr: expect.stringContaining(said) });
  });

  it("are documented with where they come from", async () => {
    const guide = readFileSync("docs/command.md", "utf8");
    const rows = [...guide.matchAll(/^\| `\w+`(?: \(a file\))? \| `--([\w-]+)` \| `(CROSS_BORDER_\w+)` \|$/gm)];
    const { stdout } = await run(["help", "connection"], { width: 400 });
    const options = stdout.matchAll(/^ {2}--(?!config |profile )([\w-]+) <(?:text|file)> .*; (CROSS_BORDER_\w+)/gm);
    expect(rows.map(([, option, variable]) => [option, variable])).toEqual(
      [...options].map(([, option, variable]) => [option, variable]),
    );
  });
});

/** A clock that only waits move: the short ones of the questions take no time. */
function skipWaits(): void {
  const real = { ...clock };
  let skippedMs = 0;
  setClock({
    ...real,
    wallMs: () => real.wallMs() + skippedMs,
    monotonicMs: () => skippedMs,
    setTimer(work, ms) {
      if (ms > 5000) return real.setTimer(work, ms);
      return real.setTimer(() => {
        skippedMs += ms;
        work();
      }, 0);
    },
  });
  onTestFinished(() => setClock(undefined));
}

describe("--service", () => {
  interface Report {
    readonly questions: readonly { readonly id: string; readonly value?: unknown }[];
    readonly settings: object;
    readonly changes?: readonly string[];
  }

  async function ask(env: object, ...more: readonly string[]): Promise<{ code: number; report: Report }> {
    const { code, stdout, stderr } = await run(["doctor", "--service", "--json", ...more], { env });
    expect(stderr).toBe("");
    return { code, report: JSON.parse(stdout) };
  }

  const valuesOf = ({ questions }: Report) => Object.fromEntries(questions.map(({ id, value }) => [id, value]));

  it.each<[what: string, options: SandboxOptions, values: object]>([
    [
      "as described",
      { maxSize: 5 },
      {
        size: { largest: 5, above: "clipped" },
        tokens: { kind: "numbers", tokens: "up" },
        sort: { pagingToken: "sorted" },
        filters: { id: "filters", senderGatewayTransactionId: "filters", unknownField: "refused" },
        clock: "within 30 s",
        caches: "none",
        listed: undefined,
        idle: "not seen",
      },
    ],
    [
      "with opaque tokens, and newest first",
      { quirks: { newestFirst: true, textTokens: true } },
      { tokens: { kind: "texts", tokens: "down" }, size: undefined },
    ],
    ["without tokens", { pagingTokens: "none" }, { tokens: "none" }],
  ])("finds what a service does that is %s, and only reads", async (_, options, values) => {
    await using other = await startSandbox(options);
    await using client = await registeredClient(other);
    for (let index = 1; index <= 12; index += 1) {
      await client.pay(requestOf(`${index}.00`), () => ({ senderGatewayTransactionId: `TX-${index}` }));
    }
    const earlier = other.sandbox.requests.length;
    skipWaits();
    const { report } = await ask(environmentOf(other.clientOptions), "--wait", "300ms");
    expect(valuesOf(report)).toMatchObject(values);
    const asked = other.sandbox.requests
      .slice(earlier)
      .map(({ method, path }) => `${method} ${path.split("/").at(-1)}`);
    expect(asked.filter((one) => !/^GET |^POST (token|logout)$/.test(one))).toEqual([]);
  });

  /** A service that ignores every query, behind a cache, with a wrong clock, late lists, and connections that end at once. */
  async function startStubborn(): Promise<Record<string, string>> {
    const rowOf = (index: number, agoMs: number) => ({
      ...{ id: `p-${index}`, pagingToken: String(index), senderGatewayTransactionId: `TX-${index}` },
      ...{ receiverGatewayStatus: "pending", createdAt: new Date(clock.wallMs() - agoMs).toISOString() },
    });
    const rows = Array.from({ length: 6 }, (_, index) => rowOf(index, 60_000 - index));
    const origin = await originInTest(
      createServer(({ url = "", method, headers, socket }, response) => {
        response.setHeader("content-type", "application/json");
        if (method === "POST") return void response.end(JSON.stringify({ access_token: "t", token_type: "Bearer" }));
        if (url.includes("_sort=pagingToken.desc&_size=20")) rows.push(rowOf(rows.length, 20_000));
        response.setHeader("date", new Date(clock.wallMs() + 600_000).toUTCString());
        response.setHeader("age", "7").end(JSON.stringify(rows));
        if (headers.authorization === undefined) response.once("finish", () => socket.end());
      }),
    );
    return {
      ...{ CROSS_BORDER_BASE_URL: origin, CROSS_BORDER_AUTH_URL: origin, CROSS_BORDER_REALM: "r" },
      ...{ CROSS_BORDER_CLIENT_ID: "c", CROSS_BORDER_USERNAME: "u", CROSS_BORDER_PASSWORD: "p" },
    };
  }

  it("prints the settings that follow, and what changed since a baseline", async () => {
    const env = await startStubborn();
    skipWaits();
    const wait = ["--wait", "10s"];
    const { code, report } = await ask(env, ...wait);
    expect(code).toBe(0);
    expect(valuesOf(report)).toMatchObject({
      sort: { pagingToken: "ignored", createdAt: "ignored" },
      filters: { id: "ignored", unknownField: "ignored" },
      clock: "10 min",
      caches: expect.stringContaining("ignores no-cache"),
      listed: "later",
      idle: "0 s",
    });
    expect(report.settings).toMatchObject({
      PaymentFlow: { clockSkewMs: expect.any(Number), readBackDelayMs: expect.any(Number) },
    });
    const baseline = ["--baseline", file("baseline.json")];
    writeFileSync(file("baseline.json"), JSON.stringify(report));
    expect(await ask(env, ...wait, ...baseline)).toMatchObject({ code: 0, report: { changes: [] } });
    const questions = report.questions.map((one) => (one.id === "caches" ? { ...one, value: "none" } : one));
    writeFileSync(file("baseline.json"), JSON.stringify({ questions }));
    expect(await ask(env, ...wait, ...baseline)).toMatchObject({ code: 1, report: { changes: ["caches"] } });
    const { stdout } = await run(["doctor", "--service", ...wait], { env });
    expect(stdout).toMatch(/\nok {4}sort: pagingToken: ignored, createdAt: ignored\n/);
    expect(stdout).toMatch(/\nSettings:\n {2}\S/);
  });

  it("refuses a baseline that is something else, before it asks", async () => {
    const env = environmentOf(server.clientOptions);
    const { code, stderr } = await run(["doctor", "--service", "--baseline", "package.json"], { env });
    expect([code, stderr]).toEqual([3, expect.stringContaining("is not the output of doctor --service --json")]);
  });
});
