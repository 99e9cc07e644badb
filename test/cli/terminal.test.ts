import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CrossBorderClient } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { deferred } from "../support/deferred.js";
import { settingsOf } from "../support/environment.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest } from "../support/origin-of.js";
import { openTerminal } from "../support/pseudo-terminal.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { some } from "../support/thorough.js";
import { run } from "./run.js";

const folder = temporaryFolder();
const file = (name: string) => join(folder, name);
let server: SandboxServer;

beforeAll(async () => {
  server = await startSandbox();
  await using client = new CrossBorderClient(server.clientOptions);
  for (const [index, name] of ["Bank of Tōkyō", "Zoe\u0308's Ba\u0301nk", "Plain \x1b[31mred"].entries()) {
    await client.paymentGateways.create({ institutionId: `bank-${index}`, currency: "EUR", countryCode: "DE", name });
  }
  const { password, ...settings } = settingsOf(server.clientOptions);
  writeFileSync(file("config.json"), JSON.stringify(settings));
  writeFileSync(file("whole.json"), JSON.stringify({ ...settings, password }));
  writeFileSync(file("key.pem"), signingKeysOf("gateway").privateKey);
  const encrypt = ["-topk8", "-in", file("key.pem"), "-out", file("secret.pem"), "-passout", "pass:open sésame"];
  execFileSync("openssl", ["pkcs8", ...encrypt], { stdio: "pipe" });
});
afterAll(() => server.close());

/** As a shell has it: 130. */
const byCtrlC = { isRestored: true, code: null, signal: 2 };

describe("a secret that is missing", () => {
  const ask = async () => {
    const terminal = openTerminal(["doctor", "--config", file("config.json")]);
    await terminal.until("password of gateway:");
    return terminal;
  };

  it("is asked for, and not shown", async () => {
    const { password } = server.clientOptions.auth;
    const terminal = await ask();
    terminal.send(`x\x7f${password}\r`);
    expect(await terminal.result).toMatchObject({ isRestored: true, code: 0 });
    expect(terminal.shown()).toContain("gateway can log in");
    expect(terminal.shown()).not.toContain(password);
  });

  it.each(
    some<[how: string, keys: string | undefined, end: object, said: string]>([
      ["Ctrl-C", "abc\x03", { code: 130 }, ""],
      ["Ctrl-D", "\x04", { code: 130 }, ""],
      ["an empty line", "\r", { code: 2 }, "password is missing. Give it in CROSS_BORDER_PASSWORD"],
      ["SIGTERM", undefined, { code: null, signal: 15 }, ""],
    ]),
  )("can be refused by %s, which leaves the terminal as it was", async (_, keys, end, said) => {
    const terminal = await ask();
    if (keys === undefined) terminal.end();
    else terminal.send(keys);
    expect(await terminal.result).toMatchObject({ isRestored: true, ...end });
    expect(terminal.shown()).toContain(said);
    expect(terminal.shown()).not.toContain("abc");
  });

  it("is no question where nobody can type", async () => {
    const { code, stderr } = await run(["doctor", "--config", file("config.json")]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("password is missing. Give it in CROSS_BORDER_PASS")]);
  });

  it("can be the passphrase of a key", async () => {
    const { stdout } = await run(["keys", "show", file("key.pem"), "--json"]);
    const terminal = openTerminal(["keys", "show", file("secret.pem")]);
    await terminal.until(`Passphrase of ${file("secret.pem")}:`);
    terminal.send("open sésame\r");
    expect(await terminal.result).toMatchObject({ isRestored: true, code: 0 });
    expect(terminal.shown()).toContain(JSON.parse(stdout).fingerprint);
  });
});

it.each([
  ["payment-gateways list", 40, { NO_COLOR: "1" }],
  ["payment-gateways list", 80, { TERM: "dumb" }],
  ["doctor", 40, { NO_COLOR: "1" }],
  ["doctor", 120, {}],
])("%s fits a window of %i columns, and has colors where they are wanted: %o", async (words, columns, env) => {
  const terminal = openTerminal([...words.split(" "), "--config", file("whole.json")], { columns, env });
  const { code, widths } = await terminal.result;
  const lines = terminal.shown().split(/\r*\n/);
  // An address stays whole, since people copy it.
  const broken = lines.filter((line, index) => (widths[index] ?? 0) > columns && !/\S{20}/.test(line));
  expect({ code, broken }).toEqual({ code: 0, broken: [] });
  expect(terminal.shown().includes("\x1b[")).toBe(Object.keys(env).length === 0);
});

describe("Ctrl-C ends at once, and leaves the terminal as it was:", () => {
  it.each(some([[["doctor"]], [["payments", "list"]]]))("%j at a service that hangs", async (line) => {
    const { promise: asked, resolve: noteAsked } = deferred();
    const hanging = createServer(() => noteAsked());
    onTestFinished(() => hanging.closeAllConnections());
    const url = await originInTest(hanging);
    const terminal = openTerminal([...line, "--config", file("whole.json"), "--base-url", url]);
    await asked;
    terminal.send("\x03");
    expect(await terminal.result).toMatchObject(byCtrlC);
  });

  it("a command that waits for what is typed", async () => {
    const terminal = openTerminal(["keys", "show", "-"]);
    await terminal.until("reading what you type; Ctrl-D ends it");
    terminal.send("half a line\n\x03");
    expect(await terminal.result).toMatchObject(byCtrlC);
  });

  it.each(some(["Ctrl-C", "SIGTERM"]))("the sandbox, whose files are gone then: %s", async (how) => {
    const terminal = openTerminal(["sandbox"], { columns: 300 });
    await terminal.until("--liquidity-provider");
    const [, settings = ""] = /doctor --config (\S+)/.exec(terminal.shown()) ?? [];
    expect(existsSync(settings)).toBe(true);
    if (how === "SIGTERM") terminal.end();
    else terminal.send("\x03");
    expect(await terminal.result).toMatchObject({ isRestored: true, code: 0 });
    expect(existsSync(dirname(settings))).toBe(false);
  });
});
