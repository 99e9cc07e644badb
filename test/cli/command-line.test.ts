import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { programOf } from "../../src/cli/program.js";
import { exitCodes } from "../../src/cli/terminal.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { commandPaths, run, terminalOf } from "./run.js";

const program = programOf(terminalOf());

describe("a command line", () => {
  it("shows an overview that fits a window of 80 columns and 24 lines", async () => {
    const help = await run(["--help"], { width: 80 });
    expect(help.code).toBe(0);
    const lines = help.stdout.split("\n");
    expect(lines.length).toBeLessThan(24);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines.filter((line) => /^[A-Z]\w+$/.test(line))).toEqual([
      ...["Payments", "Records", "Flows", "Sandbox", "Diagnose", "Keys"],
    ]);
    for (const { name } of program.commands
      .map((one) => ({ name: one.name() }))
      .filter(({ name }) => name !== "complete"))
      expect(help.stdout).toContain(name);
    expect(await run([])).toEqual({ code: 2, stdout: "", stderr: (await run(["--help"])).stdout });
    expect(await run(["help"])).toEqual(await run(["--help"]));
  });

  it("shows the version of the package", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    for (const option of ["--version", "-v"]) {
      expect(await run([option])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    }
  });

  it.each(commandPaths())("shows examples and options of %s, without those of the connection", async (name) => {
    const { code, stdout } = await run([...name.split(" "), "--help"]);
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/npx|--base-url/);
    if (name !== "completion") expect(stdout).toContain(`\nExamples:\n  cross-border ${name}`);
    expect(stdout.includes("cross-border help connection")).toBe(/ --config \w+\.json/.test(stdout));
    expect(await run(["help", ...name.split(" ")])).toMatchObject({ code, stdout });
  });

  it("explains the connection options once", async () => {
    const { code, stdout } = await run(["help", "connection"]);
    expect(code).toBe(0);
    for (const name of ["--config <file>", "--base-url <text>", "--no-proxy <text>", "CROSS_BORDER_PASSWORD"])
      expect(stdout).toContain(name);
  });

  it.each<[said: string, line: string[]]>([
    ["unknown command 'sign'", ["sign"]],
    ["unknown command 'nothing'", ["help", "nothing"]],
    ["unknown command 'doctr' (Did you mean doctor?)", ["doctr"]],
    ["unknown command 'payment' (Did you mean payments?)", ["payment", "list"]],
    ["unknown command 'genrate' (Did you mean generate?)", ["keys", "genrate"]],
    ["unknown option '--verson' (Did you mean --version?)", ["--verson"]],
    ["unknown option '--fitler' (Did you mean --filter?)", ["payments", "list", "--fitler", "a=b"]],
    ["unknown option '--basurl' (Did you mean --base-url?)", ["payments", "list", "--basurl", "a"]],
    ["unknown option '--password'", ["doctor", "--password", "x"]],
    ["missing required argument 'file'", ["keys", "show"]],
    ["too many arguments for 'show'", ["keys", "show", "a", "b"]],
    ["required option '--trusted-keys <file>' not specified", ["verify", "-"]],
    ["'--profile <name>' cannot be used with option '--config <file>'", ["doctor", "--profile", "a", "--config", "b"]],
    ["Allowed choices are bash, zsh, fish", ["completion", "tcsh"]],
    ...["show", "get"].map((word): [string, string[]] => [
      "no operation that reads one payment. Try: cross-border payments list --filter id=x-1",
      ["payments", word, "x-1", "--config", "gateway.json", "--json"],
    ]),
    ["no operation that reads one payment. Try: cross-border payments list --filter id=ID", ["payments", "show"]],
    ["no operation that lists payment intents. Try: cross-border payment-intents show ID", ["payment-intents", "list"]],
  ])("says: %s", async (said, line) => {
    const { code, stdout, stderr } = await run(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^cross-border: .*\n/);
    expect(stderr).toContain(said);
  });

  it("is documented with every exit code and every command", () => {
    const guide = readFileSync("docs/command.md", "utf8");
    const table = guide.split("| exit code | |\n|---|---|\n")[1]?.split("\n\n")[0];
    const codes = [...(table ?? "").matchAll(/^\| (\d+) \| .+ \|$/gm)].map(([, code]) => Number(code));
    // The last is that of programs whose output nobody reads: see cli.ts.
    expect(codes).toEqual([...Object.values(exitCodes), 141]);
  });

  it.each([
    ["Can't open /nowhere/key.pem: file not found", ["keys", "show", "/nowhere/key.pem"]],
    ["Can't open missing.json: file not found", ["doctor", "--config", "missing.json"]],
  ])("fails: %s", async (said, line) => {
    expect(await run(line)).toEqual({ code: 3, stdout: "", stderr: `cross-border: ${said}\n` });
  });
});

describe("the program", () => {
  const folder = temporaryFolder();

  // Node takes a CI for a terminal of two colours, whatever TERM says.
  const none = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined };
  const env = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "", ...none };

  it("ends without a word when nobody reads any more", async () => {
    writeFileSync(join(folder, "keys.json"), "{}");
    writeFileSync(join(folder, "many.ndjson"), "x\n".repeat(100_000));
    const line = [command, "verify", join(folder, "many.ndjson"), "--trusted-keys", join(folder, "keys.json")];
    const child = spawn(process.execPath, line, { env, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.once("data", () => child.stdout.destroy());
    const closed = new Promise((resolve) => child.once("close", resolve));
    expect(await Promise.all([text(child.stderr), closed])).toEqual(["", 141]);
  });

  it("fails where its output can't be written, and does not say that something is not right", async () => {
    writeFileSync(join(folder, "keys.json"), "{}");
    execFileSync("openssl", ["genrsa", "-out", join(folder, "key.pem"), "2048"], { stdio: "ignore" });
    for (const words of [
      "--help",
      `keys show '${join(folder, "key.pem")}'`,
      `keys generate --out '${join(folder, "full")}'`,
    ]) {
      const line = `'${process.execPath}' ${command} ${words} > /dev/full`;
      const { status, stderr } = spawnSync("sh", ["-c", line], { encoding: "utf8", env });
      expect({ words, status, stderr }).toMatchObject({
        status: 3,
        stderr: expect.stringMatching(/^cross-border: .*ENOSPC[^\n]*\n$/),
      });
    }
    const both = `'${process.execPath}' ${command} keys show nowhere 2> /dev/full`;
    expect(spawnSync("sh", ["-c", both], { env }).status).toBe(3);
  });

  it.each<[when: string, more: object, hasColors: boolean]>([
    ["on a terminal", {}, true],
    ["with NO_COLOR", { NO_COLOR: "1" }, false],
    ["on a terminal that can't", { TERM: "dumb" }, false],
  ])("has colours %s: %o", (_, more, hasColors) => {
    const key = join(folder, randomUUID());
    const line = [process.execPath, command, "keys", "generate", "--out", key].join(" ");
    const shown = execFileSync("script", ["-qec", line, "/dev/null"], {
      encoding: "utf8",
      env: { ...env, TERM: "xterm-256color", ...more },
    });
    expect(shown).toContain("fingerprint");
    expect(shown.includes("\x1b[1m")).toBe(hasColors);
  });
});
