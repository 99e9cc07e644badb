import { execFile, execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CrossBorderClient } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { deferred } from "../support/deferred.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest } from "../support/origin-of.js";
import { command } from "../support/program.js";
import { openTerminal, type TerminalSession } from "../support/pseudo-terminal.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { isThorough, some } from "../support/thorough.js";
import { settingsOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const folder = temporaryFolder();
let server: SandboxServer;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  server = await startSandbox();
  await using client = new CrossBorderClient(server.clientOptions);
  for (const [index, name] of ["Bank of Tōkyō", "Zoe\u0308's Ba\u0301nk", "Plain \x1b[31mred"].entries()) {
    await client.paymentGateways.create({ institutionId: `bank-${index}`, currency: "EUR", countryCode: "DE", name });
  }
  const { password, ...settings } = settingsOf(server);
  writeFileSync(file("config.json"), JSON.stringify(settings));
  const { publicKey, publicKeyBase64 } = signingKeysOf("gateway");
  writeFileSync(file("key.pem"), publicKey);
  writeFileSync(file("keys.json"), JSON.stringify({ "bank-1": publicKeyBase64 }));
  writeFileSync(file("whole.json"), JSON.stringify({ ...settings, password }));
});
afterAll(async () => {
  await server.close();
});

const doctor = () => ["doctor", "--config", file("config.json")];
const question = "password of gateway:";
const restored = { isRestored: true };

describe("a secret that is missing", () => {
  it("is asked for, and not shown", async () => {
    const { password } = server.clientOptions.auth;
    const terminal = openTerminal(doctor());
    await terminal.until(question);
    terminal.send(`x\x7f${password}\r`);
    expect(await terminal.result).toMatchObject({ ...restored, code: 0 });
    expect(terminal.shown()).toContain("gateway can log in");
    expect(terminal.shown()).not.toContain(password);
  });

  const refusals: readonly [string, string, number, string][] = [
    ["Ctrl-C", "abc\x03", 130, ""],
    ["Ctrl-D", "\x04", 130, ""],
    [
      "an empty line",
      "\r",
      2,
      "password is missing. Give it in CROSS_BORDER_PASSWORD, in a file (--config), at a terminal",
    ],
  ];
  it.each(some(refusals))("can be refused by %s", async (_, keys, code, said) => {
    const terminal = openTerminal(doctor());
    await terminal.until(question);
    terminal.send(keys);
    expect(await terminal.result).toMatchObject({ ...restored, code });
    expect(terminal.shown()).toContain(said);
    expect(terminal.shown()).not.toContain("abc");
  });

  it("leaves the terminal as it was where the process is ended meanwhile", async () => {
    const terminal = openTerminal(["doctor", "--config", file("config.json")]);
    await terminal.until(question);
    terminal.end();
    expect(await terminal.result).toMatchObject({ ...restored, code: null, signal: 15 });
  });

  it("is no question where nobody can type", async () => {
    const { code, stderr } = await run(doctor());
    expect(code).toBe(2);
    expect(stderr).toContain("password is missing. Give it in CROSS_BORDER_PASSWORD, in a file (--config)");
  });

  it("can be the passphrase of a key", async () => {
    const { stdout } = await run(["keys", "generate", "--out", file("plain"), "--json"]);
    const line = ["-topk8", "-in", file("plain.pem"), "-out", file("secret.pem"), "-passout", "pass:open sésame"];
    execFileSync("openssl", ["pkcs8", ...line], { stdio: "pipe" });
    const terminal = openTerminal(["keys", "show", file("secret.pem")]);
    await terminal.until(`Passphrase of ${file("secret.pem")}:`);
    terminal.send("open sésame\r");
    expect(await terminal.result).toMatchObject({ ...restored, code: 0 });
    expect(terminal.shown()).toContain(JSON.parse(stdout).fingerprint);
  });
});

describe("a window", () => {
  const plain = { NO_COLOR: "1" };

  it.each(some([40, 20, 80]))("of %i columns has a table none of whose lines it breaks", async (columns) => {
    const terminal = openTerminal(["payment-gateways", "list", "--config", file("whole.json")], {
      columns,
      env: plain,
    });
    const { code, widths } = await terminal.result;
    expect(code).toBe(0);
    expect(terminal.shown()).not.toContain("\x1b");
    expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    // Whole ids leave no room for names in 40 columns.
    expect(terminal.shown().includes("Tōkyō")).toBe(columns > 40);
  });

  it("of 40 columns has the checks of doctor in lines that it need not break", async () => {
    const terminal = openTerminal(["doctor", "--config", file("whole.json")], { columns: 40, env: plain });
    const { code, widths } = await terminal.result;
    expect(code).toBe(0);
    expect(terminal.shown()).not.toContain("\x1b");
    // An address stays whole, since people copy it.
    const broken = terminal
      .shown()
      .split(/\r*\n/)
      .filter((line, index) => (widths[index] ?? 0) > 40 && !/\S{20}/.test(line));
    expect(broken).toEqual([]);
  });
});

describe("Ctrl-C ends at once, and leaves the terminal as it was,", () => {
  /** Takes requests and never responds. */
  async function openHangingServer() {
    const { promise: asked, resolve: isAsked } = deferred();
    const hanging = createServer(() => isAsked());
    onTestFinished(() => hanging.closeAllConnections());
    return { url: await originInTest(hanging), asked };
  }

  /** As a shell has it: 130. */
  const byCtrlC = { isRestored: true, code: null, signal: 2 };

  it.each(some([[["doctor"]], [["payments", "list"]]]))("%j at a service that hangs", async (line) => {
    const { url, asked } = await openHangingServer();
    const terminal = openTerminal([...line, "--config", file("whole.json"), "--base-url", url]);
    await asked;
    terminal.send("\x03");
    expect(await terminal.result).toMatchObject(byCtrlC);
  });

  it("doctor behind a question, too", async () => {
    const { url, asked } = await openHangingServer();
    const terminal = openTerminal([...doctor(), "--auth-url", url]);
    await terminal.until(question);
    terminal.send("secret\r");
    await asked;
    terminal.send("\x03");
    expect(await terminal.result).toMatchObject(byCtrlC);
    expect(terminal.shown()).not.toContain("secret");
  });

  const typed = [
    ["explain-signature", "--path", "/payments", "--body", "-", "--signature", "x", "--public-key", "key.pem"],
    ["keys", "show", "-"],
    ["verify", "-", "--trusted-keys", "keys.json"],
    ["evidence", "payment-1", "--from", "-", "--trusted-key", "key.pem"],
  ];
  it.each(some(typed))("%s %s, which waits for what is typed", async (...line) => {
    const terminal = openTerminal(line.map((word) => (/^keys?\./.test(word) ? file(word) : word)));
    await terminal.until("reading what you type; Ctrl-D ends it");
    terminal.send("half a line\n\x03");
    expect(await terminal.result).toMatchObject(byCtrlC);
  });

  const ends: readonly [how: string, end: (terminal: TerminalSession) => void][] = [
    ["Ctrl-C", (terminal) => terminal.send("\x03")],
    ["SIGTERM", (terminal) => terminal.end()],
  ];
  it.each(some(ends))("the sandbox, whose files are gone then: %s", async (_, end) => {
    const terminal = openTerminal(["sandbox"], { columns: 300 });
    await terminal.until("--liquidity-provider");
    const [, settings = ""] = /doctor --config (\S+)/.exec(terminal.shown()) ?? [];
    expect(existsSync(settings)).toBe(true);
    end(terminal);
    expect(await terminal.result).toMatchObject({ isRestored: true, code: 0 });
    expect(existsSync(dirname(settings))).toBe(false);
  });
});

describe("a pipe that closes early is no error", () => {
  const program = `${process.execPath} ${command}`;

  const lines: readonly [string, number][] = [
    ["--help", 0],
    ["payment-gateways list --size 1", 0],
    ["doctor --json", 0],
    ["keys show key.pem", 0],
    ["explain-signature --path /payments --body key.pem --signature x --public-key key.pem", 1],
    ["nonsense", 2],
  ];
  it.each(some(lines, 2))("of %s", async (given, code) => {
    const line = given.replaceAll("key.pem", file("key.pem"));
    const options = {
      encoding: "utf8",
      env: { ...process.env, CROSS_BORDER_CONFIG: file("whole.json"), NODE_OPTIONS: "" },
    } as const;
    for (const reader of isThorough ? ["head -1", "true"] : [code === 0 ? "true" : "head -1"]) {
      const script = `${program} ${line} 2>&1 | ${reader} > /dev/null; echo "\${PIPESTATUS[0]}"`;
      const { stdout, stderr } = await promisify(execFile)("bash", ["-c", script], options);
      expect(stderr).toBe("");
      expect([code, 141]).toContain(Number(stdout));
    }
  });
});
