import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect, type Server } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { PaymentFlow } from "../../src/flows/index.js";
import { ConnectionError, CrossBorderClient } from "../../src/index.js";
import { SqliteJournal } from "../../src/journals/sqlite-journal.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { readSettings } from "../../src/settings/index.js";
import { nodeSqlite } from "../journals/sqlite-fixture.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originOf } from "../support/origin-of.js";
import { stretched } from "../support/patience.js";
import { temporaryFolder } from "../support/temporary-folder.js";
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
/** Whether payments that are sent are lost on the way. */
let arePaymentsLost = false;
/** The status with which the proxy refuses; 407 where the password is wrong. */
let refusal: number | undefined;
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
    accountVerificationBearerToken: "a secret of the gateway",
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
      if (arePaymentsLost && method === "POST" && url?.endsWith("/payments")) return void request.socket.destroy();
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
    const wanted = `Basic ${Buffer.from(proxyUser).toString("base64")}`;
    const status = headers["proxy-authorization"] === wanted ? refusal : 407;
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} Refused\r\nproxy-authenticate: Basic\r\n\r\n`);
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
  it("the doctor finds nothing wrong", async () => {
    const { code, stdout, stderr } = await viaProxy("doctor", "--json");
    const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string; found: string }[] };
    expect(findings.filter(({ status }) => status !== "ok")).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(new Set(asked)).toEqual(new Set([`${service}:443`, `${identity}:443`]));
    expect(new Set(shown)).toEqual(new Set(["gateway"]));
    const way = `through http://${new URL(proxyUrl).host}`;
    expect(findings[1]).toEqual({ check: "proxy", status: "ok", found: `${service} ${way}, ${identity} ${way}` });
    expect(stdout).not.toContain("s3cret");
  });

  it.each([["payments"], ["payment-gateways"], ["liquidity-providers"]])("%s are listed", async (name) => {
    const { code, stdout, stderr } = await viaProxy(name, "list");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.includes("alpha-bank")).toBe(name === "payment-gateways");
    expect(new Set(asked)).toEqual(new Set([`${service}:443`, `${identity}:443`]));
    expect(shown.length).toBeGreaterThan(1);
  });

  it("records are shown, a provider's records and a period are listed", async () => {
    await using client = new CrossBorderClient(sandbox.clientOptions);
    const { id } = await client.liquidityProviders.create({ firstName: "L" });
    const [gateway] = (await client.paymentGateways.list()).items;
    for (const line of [
      ["payment-gateways", "show", gateway?.id ?? ""],
      ["deposits", "list", "--liquidity-provider", id],
      ["payments", "list", "--from", "yesterday"],
    ]) {
      const { code, stdout, stderr } = await viaProxy(...line);
      expect({ code, stderr }, line.join(" ")).toEqual({ code: 0, stderr: "" });
      expect(stdout.includes("alpha-bank")).toBe(line.includes("show"));
      expect(new Set(asked)).toEqual(new Set([`${service}:443`, `${identity}:443`]));
      expect(new Set(shown)).toEqual(new Set(["gateway"]));
    }
  });

  it.skipIf(nodeSqlite === undefined)("what an operator decided about a flow is stored, after a look", async () => {
    const path = file("flows.db");
    const journal = await SqliteJournal.open(path);
    onTestFinished(() => journal.close());
    const options = await readSettings({ config: file("settings.json"), env: { CROSS_BORDER_PROXY: proxyUrl } });
    await using client = new CrossBorderClient({ ...options, maxRetries: 0 });
    const released: string[] = [];
    const flow = new PaymentFlow({
      ...{ client, journal, gatewayId: "alpha-bank", leaseMs: stretched(300), readBackDelayMs: 10 },
      takeFunds: ({ key }) => ({ senderGatewayTransactionId: `TX ${key}`, replayed: false }),
      releaseFunds: ({ key }) => void released.push(key),
    });
    arePaymentsLost = true;
    const { status } = await flow.run("order-1", {
      ...{ senderGatewayId: "alpha-bank", senderCurrency: "EUR", senderAccount: "DE-0001" },
      ...{ receiverGatewayId: "alpha-bank", receiverAccount: "DE-0002", receiverCurrency: "EUR" },
      ...{ receiverAmount: "1.00", memo: "" },
    });
    arePaymentsLost = false;
    expect(status).toBe("held");
    const decision = ["release", "--by", "Olga Operator", "--why", "ticket 4711", "--yes"];
    const { code, stdout } = await viaProxy("flows", "resolve", "order-1", ...decision, "--journal", path);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^phase +refused$/m) });
    expect(new Set(asked)).toEqual(new Set([`${service}:443`, `${identity}:443`]));
    expect(new Set(shown)).toEqual(new Set(["gateway"]));
  });

  it("a program has the same settings", async () => {
    const env = { CROSS_BORDER_CONFIG: file("settings.json"), HTTPS_PROXY: proxyUrl };
    await using client = new CrossBorderClient(await readSettings({ env }));
    asked = [];
    expect(await client.paymentGateways.list().toArray({ max: 10 })).toHaveLength(1);
    expect(new Set(asked)).toEqual(new Set([`${service}:443`, `${identity}:443`]));
  });
});

it("says what a proxy refuses, and never its password", async () => {
  const env = { HTTPS_PROXY: proxyUrl.replace("s3cret", "wr0ng") };
  const doctor = await run(["doctor", "--config", file("settings.json")], { env });
  expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining("made no connection") });
  expect(doctor.stdout + doctor.stderr).not.toMatch(/wr0ng|s3cret/);
  const bad = await run(["doctor", "--config", file("settings.json")], { env: { HTTPS_PROXY: "ftp://s3cret@x" } });
  expect(bad).toMatchObject({ code: 1, stdout: expect.stringContaining("HTTPS_PROXY must be the address of a proxy") });
  expect(bad.stdout).not.toContain("s3cret");
  const told = await run(["doctor", "--config", file("settings.json"), "--proxy", proxyUrl]);
  expect(told).toMatchObject({ code: 2, stderr: expect.stringContaining("Give it in CROSS_BORDER_PROXY") });
  expect(told.stderr).not.toContain("s3cret");
});

describe("a proxy that lets nothing through", () => {
  const wrong = () => proxyUrl.replace("s3cret", "wr0ng");

  it("ends a list at once, and is named without its password", async () => {
    asked = [];
    const list = ["payments", "list", "--config", file("settings.json")];
    const { code, stdout, stderr } = await run(list, { env: { CROSS_BORDER_PROXY: wrong() } });
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 3, stdout: "" },
      stderr: expect.stringContaining(`the proxy made no connection to https://${identity}`),
    });
    expect(stderr).not.toMatch(/wr0ng|s3cret|teller/);
    // No second try, which a lock of the account could count.
    expect(asked).toEqual([`${identity}:443`]);
  });

  it.each([407, 503])("has sent nothing of a payment if it says %i", async (status) => {
    refusal = status;
    try {
      const env = { CROSS_BORDER_CONFIG: file("settings.json"), CROSS_BORDER_PROXY: proxyUrl };
      const auth = { accessToken: () => "token" };
      await using client = new CrossBorderClient({ ...(await readSettings({ env })), auth });
      const fields = { amount: "1.00", currency: "EUR", paymentGatewayId: "alpha-bank" };
      const failed = await client.liquidityProviders
        .deposits("1")
        .create(fields)
        .catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(ConnectionError);
      expect(failed).toMatchObject({ code: "proxy_refused", effect: "none", attempts: 1 });
      expect(failed).toMatchObject({ cause: { message: expect.stringContaining(String(status)) } });
    } finally {
      refusal = undefined;
    }
  });
});

it.each(["http://teller:100%25safe%@proxy.invalid:3128", "http://te%ller@proxy.invalid"])(
  "refuses a proxy whose user or password can't be decoded (case %#), and shows neither",
  async (address) => {
    const env = { CROSS_BORDER_PROXY: address };
    const { code, stderr } = await run(["payments", "list", "--config", file("settings.json")], { env });
    expect(code).toBe(3);
    expect(stderr).toContain("proxy has a user or a password with a % that is not written as %25");
    expect(stderr).not.toMatch(/teller|te%ller|safe/);
  },
);

it.each([
  "http:/teller:safe@proxy.invalid:3128",
  "http://teller:12/safe@proxy.invalid",
  "http://proxy.invalid/safe.pac",
])("refuses a proxy whose address has more than a host (case %#), and shows none of it", async (address) => {
  const env = { CROSS_BORDER_PROXY: address };
  const { code, stderr } = await run(["payments", "list", "--config", file("settings.json")], { env });
  expect(code).toBe(3);
  expect(stderr).toContain("proxy must be the address of a proxy, such as http://proxy.example:3128");
  expect(stderr).not.toMatch(/teller|safe|undici/);
});

describe("settings without a name", () => {
  const home = () => ({ HOME: file("home"), HTTPS_PROXY: proxyUrl });
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
    expect((await run(list, { env: home() })).code).toBe(0);
    const test = await run([...list, "--profile", "test"], { env: home() });
    expect(test).toMatchObject({ code: 3, stderr: expect.stringContaining("Check authUrl and realm") });
    expect((await run(list, { env: { ...home(), CROSS_BORDER_PROFILE: "test" } })).code).toBe(3);
    expect(
      (await run([...list, "--config", file("settings.json")], { env: { ...home(), CROSS_BORDER_PROFILE: "test" } }))
        .code,
    ).toBe(0);
    await using client = new CrossBorderClient(await readSettings({ env: home() }));
    expect((await client.paymentGateways.list({ size: 1 })).items).toHaveLength(1);
    await expect(readSettings({ env: home(), profile: "none" })).rejects.toThrow(/ENOENT.*none\.json/);
    await expect(readSettings({ env: home(), profile: "../x" })).rejects.toThrow("a profile's name has letters");
    await expect(readSettings({ env: home(), profile: "a", config: "b" })).rejects.toThrow("exclude each other");
    expect((await run([...list, "--profile", "a", "--config", "b"], { env: home() })).code).toBe(2);
  });

  it("are refused where others can read or change them", async () => {
    for (const mode of [0o640, 0o604, 0o620]) {
      store("default", {}, mode);
      const { code, stderr } = await run(["payments", "list"], { env: home() });
      expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining("chmod 600 ") });
      await expect(readSettings({ env: home() })).rejects.toThrow("chmod 600 ");
    }
    store("default");
  });

  it.each<[source: object, said: string]>([
    [{ profil: "staging" }, 'unknown option "profil". Did you mean "profile"?'],
    [{ config: "" }, "config must be a text that is not empty; got an empty string"],
  ])("are not read by %j, which means another file", async (source, said) => {
    await expect(readSettings({ env: home(), ...source })).rejects.toThrow(said);
  });

  it("are not there where no folder can hold them", async () => {
    writeFileSync(file("no-folder"), "");
    await expect(readSettings({ env: { HOME: file("no-folder") } })).rejects.toThrow("settings are missing: ");
    // What lies in the working directory is nobody's home.
    store("default");
    const elsewhere = process.cwd();
    vi.stubEnv("HOME", "");
    process.chdir(file("home"));
    try {
      await expect(readSettings()).rejects.toThrow("settings are missing: ");
    } finally {
      process.chdir(elsewhere);
      vi.unstubAllEnvs();
    }
  });

  it.runIf(process.geteuid?.() === 0)("are not there for a user who has no home, or another's", async () => {
    store("default");
    chmodSync(file("home"), 0o700);
    process.seteuid?.(3_999_999);
    try {
      await expect(readSettings({ env: { HOME: file("home") } })).rejects.toThrow("settings are missing: ");
      await expect(readSettings({ env: {} })).rejects.toThrow("settings are missing: ");
      await expect(readSettings({ env: { HOME: file("home") }, profile: "test" })).rejects.toThrow("EACCES");
    } finally {
      process.seteuid?.(0);
    }
  });

  it("name what is missing", async () => {
    const env = { HOME: file("nobody"), CROSS_BORDER_REALM: "r", CROSS_BORDER_PASSWORD: "s3cret" };
    await expect(readSettings({ env })).rejects.toThrow(
      "settings are missing: baseUrl (CROSS_BORDER_BASE_URL), authUrl (CROSS_BORDER_AUTH_URL), clientId (CROSS_BORDER_CLIENT_ID), username (CROSS_BORDER_USERNAME). Give",
    );
  });
});
