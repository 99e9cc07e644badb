import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CrossBorderClient, type SigningKeyPair } from "../../src/index.js";
import { type SandboxOptions, type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest } from "../support/origin-of.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { openClosedPort } from "../wire/closed-port.js";
import { settingsOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const folder = temporaryFolder();
let server: SandboxServer;
let keys: SigningKeyPair;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  server = await startSandbox({ basePath: "/gateway/v1" });
  keys = signingKeysOf("gateway");
  writeFileSync(file("key.pem"), keys.privateKey);
  const { publicKeyBase64: rsaPublicKeyBase64 } = keys;
  await using client = new CrossBorderClient(server.clientOptions);
  await client.paymentGateways.create({ institutionId: "alpha-bank", currency: "EUR", rsaPublicKeyBase64 });
});
afterAll(() => server.close());

function settings(more: object = {}): Record<string, string> {
  return { ...settingsOf(server), signingKey: file("key.pem"), gatewayId: "alpha-bank", ...more };
}

/** Each check with what came of it: `ok`, or the whole finding. */
async function examined(more: object = {}, env: object = {}) {
  writeFileSync(file("config.json"), JSON.stringify(settings(more)));
  const { code, stdout, stderr } = await run(["doctor", "--config", file("config.json"), "--json"], { env });
  expect(stderr).toBe("");
  const { isWell, findings }: { isWell: boolean; findings: { check: string; status: string; found: string }[] } =
    JSON.parse(stdout);
  expect(code).toBe(isWell ? 0 : 1);
  for (const secret of [server.clientOptions.auth.password, keys.privateKey.slice(40, 80)]) {
    expect(stdout).not.toContain(secret);
  }
  const wrong = findings.filter(({ status }) => status !== "ok").map(({ check, status }) => `${check}: ${status}`);
  return { isWell, wrong, findings, text: stdout };
}

/** Of the public half of a private key. */
function fingerprintByOpenssl(path: string): string {
  const der = execFileSync("openssl", ["pkey", "-in", path, "-pubout", "-outform", "DER"]);
  const text = execFileSync("openssl", ["dgst", "-sha256"], { input: der, encoding: "utf8" });
  return text.trim().split(" ").at(-1) ?? "";
}

it("finds nothing wrong where nothing is, moves no money, and leaves no session", async () => {
  const earlier = server.sandbox.requests.length;
  const { isWell, wrong, findings } = await examined();
  expect({ isWell, wrong }).toEqual({ isWell: true, wrong: [] });
  expect(findings.map(({ check }) => check)).toEqual([
    ...["configuration", "proxy", "service DNS", "service connection", "login"],
    ...["read access", "clock", "signing key", "registered key"],
  ]);
  const requests = server.sandbox.requests.slice(earlier).map(({ method, path }) => `${method} ${path}`);
  const { realm } = server.clientOptions.auth;
  expect(requests).toEqual([
    `POST /auth/realms/${realm}/protocol/openid-connect/token`,
    "GET /gateway/v1/payment-gateways",
    "GET /gateway/v1/payment-gateways",
    `POST /auth/realms/${realm}/protocol/openid-connect/logout`,
  ]);
});

it("prints a line a check, with what to do", async () => {
  writeFileSync(file("config.json"), JSON.stringify(settings({ password: "wrong" })));
  const { code, stdout } = await run(["doctor", "--config", file("config.json")]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/\nok {4}service connection: connected to 127\.0\.0\.1:\d+ \(http, not encrypted\)\n/);
  expect(stdout).toMatch(
    /\nFAIL {2}login: .*Check username and password; a locked account looks the same\..*\nok {4}signing key: .*\nskip {2}registered key: .*\n\nSome checks failed: see above\.\n$/,
  );
});

describe("says what is wrong:", () => {
  const unseen = ["login: skipped", "registered key: skipped"];
  const noLogin = ["login: failed", "registered key: skipped"];
  const noList = ["read access: failed", "registered key: skipped"];
  const [noHost, noKey] = ["service DNS: failed", "signing key: failed"];

  it.each<[what: string, more: () => object, wrong: string[], ...said: string[]]>([
    [
      "an address that is none",
      () => ({ baseUrl: "hm" }),
      ["configuration: failed", "registered key: skipped"],
      "baseUrl",
    ],
    [
      "a name that nobody knows",
      () => ({ baseUrl: "https://no-such-host.invalid/v1" }),
      [noHost, "service connection: skipped", ...unseen],
    ],
    [
      "a password that is refused",
      () => ({ password: "wrong" }),
      noLogin,
      "rejected the credentials (401 invalid_grant)",
    ],
    [
      "a realm that is not there",
      () => ({ realm: "nowhere" }),
      noLogin,
      "responded with 404",
      "Check authUrl and realm",
    ],
    ["a base path that the service does not have", () => ({ baseUrl: `${server.url}/other` }), noList],
    ["a key file that has no key", () => ({ signingKey: file("config.json") }), [noKey]],
    ["a key file that is not there", () => ({ signingKey: file("nowhere.pem") }), [noKey]],
    [
      "a gateway that is not there",
      () => ({ gatewayId: "gamma" }),
      ["registered key: failed"],
      "no gateway gamma is listed. Listed: alpha-bank",
    ],
  ])("%s", async (_, more, wrong, ...said) => {
    const found = await examined(more());
    expect(found.wrong).toEqual(wrong);
    for (const text of said) expect(found.text).toContain(text);
  });

  it("an issuer in the place of the identity provider's address, as the client does", async () => {
    const { authUrl, realm } = server.clientOptions.auth;
    const { wrong, findings } = await examined({ authUrl: `${authUrl}/auth/realms/${realm}` });
    expect(wrong).toEqual(["configuration: failed", "registered key: skipped"]);
    expect(findings.find(({ check }) => check === "configuration")?.found).toMatch(
      /authUrl ends in \/auth\/realms\/…\. Remove that part/,
    );
  });

  it("a password from a file that ends with a line break, which is not sent", async () => {
    const earlier = server.sandbox.tokenRequests.length;
    const { wrong, text } = await examined({ password: `${server.clientOptions.auth.password}\n` });
    expect(wrong).toEqual(["configuration: failed", "registered key: skipped"]);
    expect(text).toContain("a line break");
    expect(server.sandbox.tokenRequests).toHaveLength(earlier);
  });

  it("nobody who listens", async () => {
    const closed = await openClosedPort();
    onTestFinished(() => closed.close());
    const { wrong, text } = await examined({ authUrl: `http://127.0.0.1:${closed.port}` });
    expect(wrong).toEqual(["identity provider connection: failed", "login: skipped", "registered key: skipped"]);
    expect(text).toContain("ECONNREFUSED");
  });

  it("an encrypted key without its passphrase, or with another one", async () => {
    const line = ["-topk8", "-in", file("key.pem"), "-out", file("secret.pem"), "-passout", "pass:open sesame"];
    execFileSync("openssl", ["pkcs8", ...line], { stdio: "pipe" });
    const none = await examined({ signingKey: file("secret.pem") });
    expect(none.wrong).toEqual(["signing key: failed"]);
    expect(none.text).toContain("Give its passphrase in CROSS_BORDER_KEY_PASSPHRASE");
    const env = (passphrase: string) => ({ CROSS_BORDER_KEY_PASSPHRASE: passphrase });
    expect((await examined({ signingKey: file("secret.pem") }, env("hm"))).wrong).toEqual(["signing key: failed"]);
    expect(await examined({ signingKey: file("secret.pem") }, env("open sesame"))).toMatchObject({ isWell: true });
  });

  it("another key than the registered one", async () => {
    writeFileSync(file("other.pem"), signingKeysOf("stranger").privateKey);
    const { wrong, findings } = await examined({ signingKey: file("other.pem") });
    expect(wrong).toEqual(["registered key: failed"]);
    const found = (name: string) => findings.find(({ check }) => check === name)?.found;
    expect(found("signing key")).toBe(
      `${file("other.pem")} has a private RSA key, fingerprint ${fingerprintByOpenssl(file("other.pem"))}`,
    );
    expect(found("registered key")).toBe(
      `another key is registered for alpha-bank, fingerprint ${fingerprintByOpenssl(file("key.pem"))}`,
    );
  });

  it("a proxy that the client does not go by", async () => {
    // It is for https, and the sandbox is on http.
    const { isWell, wrong } = await examined({}, { HTTPS_PROXY: "http://proxy.invalid:3128" });
    expect({ isWell, wrong }).toEqual({ isWell: true, wrong: [] });
  });

  it.each([
    ["ahead", -600, "failed"],
    ["behind", 600, "failed"],
    ["behind", 20, "warning"],
  ])("a clock that is %s (%i s)", async (_, seconds, status) => {
    const respond: RequestListener = (_request, response) => {
      response.setHeader("date", new Date(Date.now() + seconds * 1000).toUTCString());
      response.statusCode = 404;
      response.end();
    };
    const { findings } = await examined({ baseUrl: `${await originInTest(createServer(respond))}/v1` });
    const clock = findings.find(({ check }) => check === "clock");
    expect(clock).toMatchObject({ status });
    expect(clock?.found).toMatch(seconds < 0 ? /ahead of/ : /behind/);
  });

  it("a date that is none", async () => {
    const origin = await originInTest(createServer((_, response) => response.writeHead(404, { date: "soon" }).end()));
    const { findings } = await examined({ baseUrl: `${origin}/v1` });
    const clock = findings.find(({ check }) => check === "clock");
    expect(clock).toMatchObject({ status: "warning", found: "the service doesn't send its time" });
  });
});

describe("at a service that does something odd", () => {
  /** What is wrong at a sandbox with hooks, and the requests that it got. */
  async function examinedAt(hooks: SandboxOptions) {
    await using odd = await startSandbox(hooks);
    const { baseUrl, auth } = odd.clientOptions;
    const { wrong, text } = await examined({ baseUrl, authUrl: auth.authUrl, password: auth.password });
    const paths = odd.sandbox.requests.map(({ path }) => path.split("/").at(-1));
    return { wrong, text, paths };
  }

  it("says that the gateways can't be listed any more, and logs out", async () => {
    let lists = 0;
    const { wrong, text, paths } = await examinedAt({
      onRequest: ({ operation }) => {
        if (operation !== "paymentGateways.list") return undefined;
        lists += 1;
        return lists === 1
          ? undefined
          : Response.json({ code: "closed", message: "closed for tonight" }, { status: 403 });
      },
    });
    expect(wrong).toEqual(["registered key: failed"]);
    expect(text).toContain("403");
    expect(paths.at(-1)).toBe("logout");
  });
});

describe("over https, says", () => {
  function certificate(name: string, days: string, host = "localhost") {
    const [key, cert] = [file(`${name}.key`), file(`${name}.crt`)];
    const subject = ["-subj", `/O=${name}/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
    const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", days];
    execFileSync("openssl", [...made, ...subject], { stdio: "pipe" });
    return { key: readFileSync(key), cert: readFileSync(cert), file: cert };
  }

  async function connectionBy(made: { key: Buffer; cert: Buffer }, more: object = {}) {
    const server = createSecureServer(made, (_, response) => response.writeHead(404).end());
    const { port } = new URL(await originInTest(server));
    const { findings } = await examined({ baseUrl: `https://localhost:${port}/v1`, ...more });
    return findings.find(({ check }) => check === "service connection");
  }

  it("who issued a certificate that is not trusted, and that it is with its authority", async () => {
    const made = certificate("house-ca", "100");
    expect(await connectionBy(made)).toMatchObject({
      status: "failed",
      found: expect.stringMatching(/not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\), issued by house-ca/),
    });
    expect(await connectionBy(made, { ca: made.file })).toMatchObject({
      status: "ok",
      found: expect.stringMatching(/^TLSv1\.3, certificate issued by house-ca, valid for another 99 days$/),
    });
  });

  it("that a certificate ends soon", async () => {
    const made = certificate("soon-ca", "5");
    expect(await connectionBy(made, { ca: made.file })).toMatchObject({ status: "warning" });
  });

  it("that a certificate is of another name", async () => {
    const made = certificate("name-ca", "100", "elsewhere.test");
    expect(await connectionBy(made, { ca: made.file })).toMatchObject({
      status: "failed",
      found: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
  });
});

describe("the settings", () => {
  it("come from options before the environment, and from that before the file", async () => {
    writeFileSync(file("config.json"), JSON.stringify(settings({ realm: "of the file", gatewayId: "of the file" })));
    const env = {
      CROSS_BORDER_CONFIG: file("config.json"),
      CROSS_BORDER_GATEWAY_ID: "alpha-bank",
      CROSS_BORDER_REALM: "x",
    };
    const { realm } = server.clientOptions.auth;
    const { code, stdout } = await run(["doctor", "--realm", realm], { env });
    expect(stdout).toContain(`can log in to the realm ${realm}`);
    expect(code).toBe(0);
  });

  it("are named where they are missing, with where they can come from", async () => {
    const { code, stderr } = await run(["doctor"]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "baseUrl is missing. Give it as --base-url, in CROSS_BORDER_BASE_URL, in a file (--config)",
    );
  });

  it.each([
    ["is not a JSON object of settings", "[]"],
    ['there is no setting "passwort"; there are baseUrl,', '{ "passwort": "x" }'],
    ["there is no setting of a name of 15 characters; there are baseUrl,", '{ "s3cr3t password": "x" }'],
    ["realm is no text", '{ "realm": 1 }'],
  ])("are refused: %s", async (said, text) => {
    writeFileSync(file("bad.json"), text);
    const { code, stderr } = await run(["doctor", "--config", file("bad.json")]);
    expect(code).toBe(3);
    expect(stderr).toContain(said);
  });
});

it("is documented with every setting and where it comes from", async () => {
  const guide = readFileSync("docs/command.md", "utf8");
  const rows = [...guide.matchAll(/^\| `(\w+)`(?: \(a file\))? \| (?:`--([\w-]+)`)? ?\| `(CROSS_BORDER_\w+)` \|$/gm)];
  const { stdout } = await run(["help", "connection"], { width: 400 });
  const options = [
    ...stdout.matchAll(/^ {2}--(?!config |profile )([\w-]+) <(?:text|file)> .*; (CROSS_BORDER_\w+)/gm),
  ].map(([, option, variable]) => [option, variable]);
  expect(rows.flatMap(([, , option, variable]) => (option === undefined ? [] : [[option, variable]]))).toEqual(options);
  expect(rows.filter(([, , option]) => option === undefined).map(([, name]) => name)).toEqual([
    "clientSecret",
    "password",
  ]);
});
