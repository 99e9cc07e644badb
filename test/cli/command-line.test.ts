import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { exitCodes } from "../../src/cli/terminal.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { commandPaths, run } from "./run.js";

const folder = temporaryFolder();

it("shows an overview that fits a screen of 80 columns", async () => {
  const { code, stdout } = await run(["--help"], { width: 80 });
  const lines = stdout.trimEnd().split("\n");
  expect({ code, isShort: lines.length <= 40 }).toEqual({ code: 0, isShort: true });
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(lines.filter((line) => /^[A-Z]\w+:$/.test(line))).toEqual(
    ["Payments", "Records", "Flows", "Sandbox", "Diagnose", "Keys"].map((group) => `${group}:`),
  );
  expect(await run([], { width: 80 })).toEqual({ code: 2, stdout: "", stderr: stdout });
  expect((await run(["help"], { width: 80 })).stdout).toBe(stdout);
});

it("shows the version of the package", async () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(await run(["-v"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

it.each(commandPaths())("shows examples and options of %s, without those of the connection", async (name) => {
  const { code, stdout } = await run([...name.split(" "), "--help"]);
  expect(code).toBe(0);
  expect(stdout).not.toMatch(/npx|--base-url/);
  if (name !== "completion") expect(stdout).toContain(`\nExamples:\n  cross-border ${name}`);
  expect(stdout.includes("cross-border help connection")).toBe(/ --config \w+\.json/.test(stdout));
  expect(await run(["help", ...name.split(" ")])).toMatchObject({ code, stdout });
});

it.each<[said: string, line: string[]]>([
  ["unknown command 'doctr'; did you mean doctor?", ["help", "doctr"]],
  ["unknown option '--fitler' (Did you mean --filter?)", ["payments", "list", "--fitler", "a=b"]],
  ["unknown option '--password'", ["doctor", "--password", "x"]],
  ["'--profile <name>' cannot be used with option '--config <file>'", ["doctor", "--profile", "a", "--config", "b"]],
])("says: %s", async (said, line) => {
  const { code, stdout, stderr } = await run(line);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(/^cross-border: /) });
  expect(stderr).toContain(said);
});

it("is documented with every exit code", () => {
  const [, table = ""] = readFileSync("docs/command.md", "utf8").split("| exit code | |\n|---|---|\n");
  const codes = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| (\d+) \| .+ \|$/gm)].map(([, code]) => Number(code));
  // The last is that of programs whose output nobody reads: see main.ts.
  expect(codes).toEqual([...Object.values(exitCodes), 141]);
});

describe("the program", () => {
  const env = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };

  it("ends without a word when nobody reads any more", async () => {
    writeFileSync(join(folder, "keys.json"), "{}");
    writeFileSync(join(folder, "many.ndjson"), "x\n".repeat(100_000));
    const line = [command, "verify", join(folder, "many.ndjson"), "--trusted-keys", join(folder, "keys.json")];
    const child = spawn(process.execPath, line, { env, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.once("data", () => child.stdout.destroy());
    const closed = new Promise((resolve) => child.once("close", resolve));
    expect(await Promise.all([text(child.stderr), closed])).toEqual(["", 141]);
  });

  it.each([
    ["its output can't be written", "--help > /dev/full", /^cross-border: .*ENOSPC[^\n]*\n$/],
    ["its errors can't be written", "keys show nowhere 2> /dev/full", /^$/],
    ["a file is not there", "keys show nowhere", /^cross-border: Can't open nowhere: file not found\n$/],
  ])("ends with 3 if %s", (_, words, said) => {
    const line = `'${process.execPath}' ${command} ${words}`;
    const { status, stderr } = spawnSync("sh", ["-c", line], { encoding: "utf8", env });
    expect({ status, stderr }).toEqual({ status: 3, stderr: expect.stringMatching(said) });
  });
});

it.each<[words: string[], found: string[]]>([
  [["pay"], ["payment-gateways", "payments", "payment-intents"]],
  [
    ["keys", ""],
    ["generate", "show"],
  ],
  [
    ["payments", "list", "--fo"],
    ["--follow", "--format"],
  ],
  [
    ["payments", "list", "--format", ""],
    ["table", "csv", "json", "ndjson"],
  ],
  [
    ["completion", ""],
    ["bash", "zsh", "fish"],
  ],
])("completes %j", async (words, found) => {
  const { code, stdout } = await run(["complete", "--", ...words]);
  expect({ code, found: stdout.split("\n").filter(Boolean).sort() }).toEqual({ code: 0, found: found.sort() });
});

const shells = ["bash", "zsh", "fish"].filter((shell) => spawnSync(shell, ["--version"]).error === undefined);

it.each(shells)("has a script that %s reads", async (shell) => {
  const { stdout } = await run(["completion", shell]);
  writeFileSync(join(folder, shell), stdout);
  const { status, stderr } = spawnSync(shell, ["-n", join(folder, shell)], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

it("completes in bash by what the program offers", async () => {
  const { stdout } = await run(["completion", "bash"]);
  const asked = `cross-border() { printf '%s|' "$@"; }
${stdout}
COMP_WORDS=(cross-border payments li); COMP_CWORD=2; _cross_border; printf '%s' "\${COMPREPLY[0]}"`;
  expect(execFileSync("bash", ["--norc", "-c", asked], { encoding: "utf8" })).toBe("complete|--|payments|li|");
});
