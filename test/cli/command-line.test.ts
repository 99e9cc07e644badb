import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.js";
import { run } from "./run.js";

describe("a command line", () => {
  it("shows every command where there is none, or help is asked for", async () => {
    const nothing = await run([]);
    const help = await run(["--help"]);
    expect([nothing.code, help.code]).toEqual([2, 0]);
    expect(nothing.stdout).toBe(help.stdout);
    for (const { name, summary } of commands) expect(help.stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, "m"));
  });

  it("shows the version of the package", async () => {
    const { version } = JSON.parse(execFileSync("npm", ["pkg", "get", "version", "name"], { encoding: "utf8" }));
    expect(await run(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it.each(commands.map(({ name }) => [name]))("shows options and examples of %s", async (name) => {
    const { code, stdout } = await run([...name.split(" "), "--help"]);
    const { options, examples } = commands.find((command) => command.name === name) ?? { options: {}, examples: [] };
    expect(code).toBe(0);
    for (const option of Object.keys(options)) expect(stdout).toContain(`\n  --${option}`);
    for (const example of examples) expect(stdout).toContain(`\n  cross-border ${example}\n`);
    expect(Object.keys(options)).toContain("json");
  });

  it.each<[said: string, line: string[]]>([
    ['there is no command "sign"', ["sign"]],
    ["keys is followed by another word: keys generate, keys show", ["keys"]],
    ["keys is followed by another word: keys generate, keys show", ["keys", "delete"]],
    ["FILE is missing", ["keys", "show"]],
    ['"b" is one word too many', ["keys", "show", "a", "b"]],
    ["Unknown option '--out'", ["keys", "show", "a", "--out", "b"]],
    ["--trusted-keys FILE is missing", ["verify", "-"]],
  ])("says: %s", async (said, line) => {
    const { code, stdout, stderr } = await run(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^cross-border: .*\nSee cross-border .*--help\n$/);
    expect(stderr).toContain(said);
  });

  it("fails where a file is not there", async () => {
    const { code, stderr } = await run(["keys", "show", "/nowhere/key.pem"]);
    expect(code).toBe(3);
    expect(stderr).toBe("cross-border: ENOENT: no such file or directory, open '/nowhere/key.pem'\n");
  });
});

describe("the program", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "cross-border-cli-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const program = ["--import", "tsx", "src/cli/cli.ts"];
  // Node takes a CI for a terminal of two colours, whatever TERM says.
  const none = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined };
  const env = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "", ...none };

  it("ends without a word when nobody reads any more", async () => {
    writeFileSync(join(folder, "keys.json"), "{}");
    writeFileSync(join(folder, "many.ndjson"), "x\n".repeat(100_000));
    const line = [...program, "verify", join(folder, "many.ndjson"), "--trusted-keys", join(folder, "keys.json")];
    const child = spawn(process.execPath, line, { env, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.once("data", () => child.stdout.destroy());
    const closed = new Promise((resolve) => child.once("close", resolve));
    expect(await Promise.all([text(child.stderr), closed])).toEqual(["", 141]);
  });

  it.each<[when: string, more: object, hasColors: boolean]>([
    ["on a terminal", {}, true],
    ["with NO_COLOR", { NO_COLOR: "1" }, false],
    ["on a terminal that can't", { TERM: "dumb" }, false],
  ])("has colours %s: %o", (_, more, hasColors) => {
    const key = join(folder, randomUUID());
    const line = [process.execPath, ...program, "keys", "generate", "--out", key].join(" ");
    const shown = execFileSync("script", ["-qec", line, "/dev/null"], {
      encoding: "utf8",
      env: { ...env, TERM: "xterm-256color", ...more },
    });
    expect(shown).toContain("fingerprint");
    expect(shown.includes("\x1b[1m")).toBe(hasColors);
  });
});
