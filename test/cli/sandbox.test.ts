import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Recording } from "../../src/cli/sandbox/recording.js";
import { CrossBorderClient } from "../../src/index.js";
import { startSandbox } from "../../src/sandbox/index.js";
import { deferred } from "../support/deferred.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { type CommandResult, run } from "./run.js";

const base = temporaryFolder();
const file = (name: string) => join(base, name);

interface RunningSandbox {
  readonly folder: string;
  readonly settings: string;
  readonly stored: Readonly<Record<string, string>>;
}

/** Runs the command until `use` is through. */
async function whileRunning(
  name: string,
  use: (running: RunningSandbox) => Promise<void>,
  ...more: readonly string[]
): Promise<CommandResult> {
  const folder = file(name);
  const { promise: stopped, resolve: stop } = deferred();
  let isOver = false;
  const running = run(["sandbox", "--folder", folder, ...more], { stopped }).finally(() => {
    isOver = true;
  });
  try {
    // The last of the files.
    while (!isOver && !existsSync(join(folder, "trusted-keys.json"))) await sleep(5);
    if (!isOver) {
      const settings = join(folder, "alpha-bank.json");
      await use({ folder, settings, stored: JSON.parse(readFileSync(settings, "utf8")) });
    }
  } finally {
    stop();
  }
  return running;
}

it("has gateways, keys and records with which the other commands work at once", async () => {
  const result = await whileRunning("whole", async ({ folder, settings }) => {
    for (const gateway of ["alpha-bank", "beta-mobile"]) {
      const { code, stdout } = await run(["doctor", "--config", join(folder, `${gateway}.json`), "--json"]);
      expect({ code, stdout: JSON.parse(stdout) }).toMatchObject({ code: 0, stdout: { isWell: true } });
    }
    const { stdout: payments } = await run(["payments", "list", "--config", settings]);
    const statuses = payments.match(/"receiverGatewayStatus":"\w+"/g)?.map((text) => text.slice(25, -1));
    expect(statuses).toHaveLength(24);
    expect(new Set(statuses)).toEqual(new Set(["processed", "error", "reverted", "pending"]));
    const line = ["verify", "-", "--trusted-keys", join(folder, "trusted-keys.json")];
    expect(await run(line, { stdin: payments })).toMatchObject({ code: 0, stdout: expect.stringContaining("genuine") });
    const days = payments.match(/"createdAt":"[^T"]+/g);
    expect(new Set(days).size).toBeGreaterThan(1);
  });
  expect(result).toMatchObject({ code: 0, stderr: "" });
});

it("says where everything is, quoted for a shell, never the password, and leaves nothing behind", async () => {
  let password = "";
  const { code, stdout } = await whileRunning("it's told", async ({ folder, stored }) => {
    password = stored.password ?? "";
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });
  expect(code).toBe(0);
  expect(password).not.toBe("");
  expect(stdout).not.toContain(password);
  expect(stdout).toMatch(/^The sandbox is running/);
  expect(stdout).toMatch(
    /^console +http:\/\/127\.0\.0\.1:\d+\/console\/ \(open it in a browser; it asks for no login\)$/m,
  );
  const word = /^.*npx -p cross-border-payments cross-border doctor --config (.*)$/m.exec(stdout)?.[1] ?? "";
  expect(execFileSync("sh", ["-c", `printf %s ${word}`], { encoding: "utf8" })).toBe(file("it's told/alpha-bank.json"));
  expect(existsSync(file("it's told"))).toBe(false);
});

it("tells programs on one line", async () => {
  const { stdout } = await whileRunning("for programs", async () => {}, "--json");
  const [line = "", rest] = stdout.split("\n");
  expect(rest).toBe("");
  expect(JSON.parse(line)).toMatchObject({
    baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/gateway\/v1$/),
    consoleUrl: expect.stringContaining("/console/"),
    settings: { "alpha-bank": file("for programs/alpha-bank.json") },
  });
});

it("is a service like yours, by options of a file", async () => {
  writeFileSync(file("like-yours.json"), JSON.stringify({ maxSize: 3, quirks: { inclusiveBounds: "after" } }));
  const result = await whileRunning(
    "like-yours",
    async ({ settings }) => {
      const { stdout } = await run([
        "probe",
        "--config",
        settings,
        "--json",
        "--only",
        "size.largest",
        "--only",
        "bounds",
      ]);
      const [size, bounds] = JSON.parse(stdout).questions;
      expect([size.value.largest, bounds.value]).toEqual([3, { after: "inclusive", before: "exclusive" }]);
    },
    "--options",
    file("like-yours.json"),
  );
  expect(result).toMatchObject({ code: 0, stderr: "" });
});

it.each([
  ["[]", 3, "is not a JSON object of the sandbox's options"],
  ['{"port": 1}', 3, "the command sets port itself"],
  ['{"quirks": {"oversize": "cut"}}', 3, 'quirks: oversize must be "clipped" or "refused"'],
  ['{"quirks": {"slow": true}}', 3, 'quirks: unknown option "slow"; the options are oversize'],
])("refuses the options %s", async (text, code, message) => {
  writeFileSync(file("wrong.json"), text);
  const result = await run(["sandbox", "--options", file("wrong.json")]);
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(message);
});

it("ends with the npx that started it, and takes its key files along", async () => {
  const folder = file("npx");
  const line = `${process.execPath} ${command} sandbox --folder ${folder}`;
  const npx = spawn("npm", ["exec", "-c", line], {
    stdio: "ignore",
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
  });
  const closed = once(npx, "close");
  while (!existsSync(join(folder, "trusted-keys.json"))) {
    expect(npx.exitCode).toBe(null);
    await sleep(20);
  }
  npx.kill("SIGTERM");
  await closed;
  while (existsSync(folder)) await sleep(20);
});

it("removes only what it has written", async () => {
  mkdirSync(file("shared"));
  await whileRunning("shared", async ({ folder }) => writeFileSync(join(folder, "mine.txt"), "mine"));
  expect(readdirSync(file("shared"))).toEqual(["mine.txt"]);
  const again = await whileRunning("shared", async () => {});
  expect(again.code).toBe(3);
  expect(again.stderr).toContain(`${file("shared")} has files already`);
  expect(readFileSync(file("shared/mine.txt"), "utf8")).toBe("mine");
});

it("says that a port is taken, or is none, and leaves nothing behind", async () => {
  await using other = await startSandbox();
  const { port } = new URL(other.url);
  const taken = await whileRunning("taken", async () => {}, "--port", port);
  expect(taken.code).toBe(3);
  expect(taken.stderr).toContain(`the sandbox can't listen on port ${port} of 127.0.0.1: EADDRINUSE`);
  expect(existsSync(file("taken"))).toBe(false);
  for (const none of ["http", "65536", "-1"]) {
    expect((await run(["sandbox", `--port=${none}`])).stderr).toContain("--port is a number from 1 to 65535");
  }
});

describe("a recording", () => {
  interface Line {
    readonly kind: "request" | "response";
    readonly number: number;
    readonly [name: string]: unknown;
  }
  const linesOf = (name: string): Line[] =>
    readFileSync(file(name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));

  it("has each request, its signature and its response at once, byte for byte", async () => {
    await whileRunning(
      "recorded",
      async ({ stored: { gatewayId: senderGatewayId = "", signingKey = "", ...stored } }) => {
        const auth = {
          ...{ authUrl: stored.authUrl ?? "", realm: stored.realm ?? "", clientId: stored.clientId ?? "" },
          ...{ username: stored.username ?? "", password: stored.password ?? "" },
        };
        const baseUrl = stored.baseUrl ?? "";
        await using client = new CrossBorderClient({ baseUrl, auth, signingKey: readFileSync(signingKey, "utf8") });
        const request = {
          ...{ senderGatewayId, senderAccount: "DE-1001", senderCurrency: "EUR", memo: "Zoë" },
          ...{ receiverGatewayId: "beta-mobile", receiverAccount: "KE-7001", receiverCurrency: "KES" },
          receiverAmount: "10.00",
        };
        const outcome = await client.pay(request, () => ({ senderGatewayTransactionId: "TX-1" }));
        const lines = linesOf("record.ndjson");
        const made = lines.find(({ operation, kind }) => kind === "request" && operation === "payments.create");
        const payment = "payment" in outcome ? outcome.payment : undefined;
        expect(made).toMatchObject({
          method: "POST",
          path: payment?.creationRequestUrl,
          headers: { "x-service-signature-base64": payment?.creationRequestSignatureBase64 },
          body: payment?.creationRequestBody,
        });
        const response = lines.find(({ number, kind }) => kind === "response" && number === made?.number);
        expect(response).toMatchObject({ status: 200, body: JSON.stringify(payment) });
      },
      ...["--record", file("record.ndjson")],
    );
    expect(statSync(file("record.ndjson")).mode & 0o777).toBe(0o600);
  });

  it("has no secret and no token, whatever is sent, and whereto", async () => {
    const secret = "s3cr3t-of-the-test";
    let tokens: string[] = [];
    await whileRunning(
      "secret",
      async ({ stored: { authUrl = "", baseUrl = "", realm = "", username = "", password = "" } }) => {
        const url = `${authUrl}/auth/realms/${realm}/protocol/openid-connect`;
        const login = new URLSearchParams({ grant_type: "password", client_id: "sandbox", username, password });
        const granted = await fetch(`${url}/token`, { method: "POST", body: login });
        const { access_token: token, refresh_token: refresh } = (await granted.json()) as Record<string, string>;
        tokens = [password, token ?? "", refresh ?? ""];
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
        const send = (path: string, body: string) => fetch(baseUrl + path, { method: "POST", headers, body });
        const gateway = { institutionId: "gamma", name: "Gamma", accountVerificationBearerToken: secret };
        await send("/payment-gateways", JSON.stringify(gateway));
        await send("/payment-gateways", JSON.stringify({ accountVerificationBearerTokn: secret, name: { secret } }));
        await send("/payment-gateways", JSON.stringify([secret, { 0: secret }]));
        await send("/payment-gateways", `{"accountVerificationBearerToken":"${secret}"`);
        await send("/elsewhere", login.toString());
        const wanted = encodeURIComponent(secret);
        await fetch(`${baseUrl}/payment-gateways?accountVerificationBearerToken=${wanted}&_size=7`, { headers });
        await fetch(`${baseUrl}/payment-gateways`, { headers });
        for (const path of ["/payments", "/payment-gateways", "/payments/p-1"]) {
          await fetch(
            `${baseUrl}${path}?_size=7&access_token=${token}&password=${secret}&p%61ss=${secret}&_token=${token}`,
          );
          await fetch(`${baseUrl}${path}?${token}`, { headers });
        }
        for (const path of ["/payments", "/payment-intents", "/payment-gateways"]) {
          await fetch(baseUrl + path, {
            method: "POST",
            headers: { authorization: headers.authorization },
            body: login,
          });
          await send(path, JSON.stringify({ memo: "rent", password: secret, receiverAccount: { token } }));
          await send(path, login.toString());
          await send(path, JSON.stringify(token));
        }
        await fetch(`${url}/logout?id_token_hint=${secret}`);
        await fetch(`${url}/token`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa(`sandbox:${secret}`)}` },
          body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: refresh ?? "" }),
        });
      },
      ...["--record", file("secret.ndjson")],
    );
    const written = readFileSync(file("secret.ndjson"), "utf8");
    for (const hidden of [secret, btoa(`sandbox:${secret}`), ...tokens]) expect(written).not.toContain(hidden);
    // What may be seen is there.
    expect(written).toContain('\\"institutionId\\":\\"gamma\\"');
    expect(written).toContain("_size=7");
    expect(written).toContain("_size=7&access_token=(hidden)&password=(hidden)&p%61ss=(hidden)&_token=(hidden)");
    expect(written).toContain(
      '{\\"memo\\":\\"rent\\",\\"password\\":\\"(hidden)\\",\\"receiverAccount\\":\\"(hidden)\\"}',
    );
    expect(written).toContain("grant_type=password&client_id=sandbox&username=gateway");
    expect(written).toContain('\\"expires_in\\":300');
    expect(linesOf("secret.ndjson").filter(({ kind }) => kind === "request")).toHaveLength(28);
  });

  it("says that a response was lost, and which request was in flight", async () => {
    const request = { operation: undefined, method: "GET", path: "/", query: "", headers: new Headers(), body: "" };
    const sent = { ...request, signed: false };
    {
      using recording = new Recording(file("lost.ndjson"));
      await recording.record(sent, async () => Response.error());
      void recording.record(sent, () => new Promise<Response>(() => {}));
    }
    expect(linesOf("lost.ndjson").map(({ kind, number, status }) => ({ kind, number, status }))).toEqual([
      { kind: "request", number: 1 },
      { kind: "response", number: 1, status: 0 },
      { kind: "request", number: 2 },
    ]);
  });

  it("ends the sandbox where nothing more can be written", async () => {
    const script = `ulimit -f 200; exec "$0" ${command} sandbox --json --record "$1"`;
    const child = spawn("bash", ["-c", script, process.execPath, file("full.ndjson")], {
      env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = Promise.all([text(child.stderr), once(child, "close")]);
    const [started] = await once(child.stdout.setEncoding("utf8"), "data");
    const { settings, folder } = JSON.parse(started);
    // It ends in the middle of it.
    for (let count = 0; child.exitCode === null && count < 20; count += 1) {
      await run(["payments", "list", "--config", settings["alpha-bank"]]);
    }
    const [stderr, [code]] = await ended;
    expect({ stderr, code }).toEqual({ stderr: "cross-border: EFBIG: file too large, write\n", code: 3 });
    expect(existsSync(folder)).toBe(false);
  });

  it("overwrites nothing", async () => {
    writeFileSync(file("mine.ndjson"), "mine");
    const { code, stderr } = await whileRunning("twice", async () => {}, "--record", file("mine.ndjson"));
    expect(code).toBe(3);
    expect(stderr).toContain("EEXIST");
    expect(readFileSync(file("mine.ndjson"), "utf8")).toBe("mine");
    expect(existsSync(file("twice"))).toBe(false);
  });
});
