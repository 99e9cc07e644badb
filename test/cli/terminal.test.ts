import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { openTerminal } from "../support/pseudo-terminal.js";
import { run } from "./run.js";

let folder: string;
let server: SandboxServer;
let settings: Record<string, string>;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cross-border-terminal-"));
  server = await startSandbox();
  const { baseUrl, auth } = server.clientOptions;
  const { authUrl, realm, clientId, username } = auth;
  settings = { baseUrl, authUrl, realm, clientId, username };
  writeFileSync(file("config.json"), JSON.stringify(settings));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const doctor = () => ["doctor", "--config", file("config.json")];
const question = "password of gateway: ";
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
    expect(terminal.shown().split(question)).toHaveLength(2);
  });

  it.each([
    ["Ctrl-C", "abc\x03", 130, ""],
    [
      "Ctrl-D",
      "\x04",
      2,
      "password is missing: give it by CROSS_BORDER_PASSWORD, or a file (--config), or type it at a terminal",
    ],
    ["an empty line", "\r", 2, "password is missing"],
  ])("can be refused by %s", async (_, keys, code, said) => {
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
    expect(stderr).toContain("password is missing: give it by CROSS_BORDER_PASSWORD, or a file (--config)");
  });

  it("can be the passphrase of a key", async () => {
    const { stdout } = await run(["keys", "generate", "--out", file("plain"), "--json"]);
    const line = ["-topk8", "-in", file("plain.pem"), "-out", file("secret.pem"), "-passout", "pass:open sésame"];
    execFileSync("openssl", ["pkcs8", ...line], { stdio: "pipe" });
    const terminal = openTerminal(["keys", "show", file("secret.pem")]);
    await terminal.until(`Passphrase of ${file("secret.pem")}: `);
    terminal.send("open sésame\r");
    expect(await terminal.result).toMatchObject({ ...restored, code: 0 });
    expect(terminal.shown()).toContain(JSON.parse(stdout).fingerprint);
  });
});
