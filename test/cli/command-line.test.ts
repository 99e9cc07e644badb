import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { exitCodes } from "../../src/cli/command.js";
import { commands } from "../../src/cli/commands.js";
import { overview } from "../../src/cli/help.js";
import { docUrlOf } from "../../src/core/describe.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { isThorough } from "../support/thorough.js";
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
    for (const option of ["--version", "-v"]) {
      expect(await run([option])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    }
  });

  it.each(commands.map(({ name }) => [name]))("shows options and examples of %s", async (name) => {
    const { code, stdout } = await run([...name.split(" "), "--help"]);
    const { options, examples } = commands.find((command) => command.name === name) ?? { options: {}, examples: [] };
    expect(code).toBe(0);
    for (const option of Object.keys(options)) expect(stdout).toContain(`\n  --${option}`);
    for (const example of examples)
      expect(stdout).toContain(`\n  npx -p cross-border-payments cross-border ${example}\n`);
    // A script for a shell is for no other program.
    if (name !== "completion") expect(Object.keys(options)).toContain("json");
  });

  it("shows the same help whichever way it is asked for", async () => {
    const list = await run(["payments", "list", "--help"]);
    expect(await run(["help", "payments", "list"])).toEqual(list);
    expect(await run(["payments", "list", "-h"])).toEqual(list);
    const keys = await run(["keys", "--help"]);
    expect(keys.code).toBe(0);
    expect(keys.stdout.match(/^ {2}keys \w+/gm)).toEqual(["  keys generate", "  keys show"]);
    expect(keys.stdout).not.toContain("doctor");
    expect(await run(["help", "keys"])).toEqual(keys);
    expect(await run(["help"])).toEqual(await run(["--help"]));
    expect((await run(["help", "nothing"])).code).toBe(2);
  });

  it("prints no hint that would fetch another package", async () => {
    const files = readdirSync("src/cli", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    for (const name of files) {
      const text = readFileSync(join("src/cli", name), "utf8");
      for (const [hint] of text.matchAll(/^(?! *(?:\*|\/[*/])).*\b(?:npx|by|See|Usage:) cross-border .*$/gm))
        expect(hint, name).toBe("");
    }
    const printed = [
      await run(["--help"]),
      await run(["keys"]),
      ...(await Promise.all(commands.map(({ name }) => run(["help", ...name.split(" ")])))),
    ];
    for (const { stdout, stderr } of printed) {
      expect((stdout + stderr).replaceAll("npx -p cross-border-payments cross-border", "")).not.toMatch(
        /cross-border (?!-)[a-z<]/,
      );
    }
  });

  it("is written so, too, in every text of the repository", () => {
    const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { encoding: "utf8" }).split("\n");
    const texts = files.filter(
      (name) => /\.(md|ts|tsx|mjs|js|json|ya?ml|sh|html)$/.test(name) && !name.includes("/node_modules/"),
    );
    expect(texts.length).toBeGreaterThan(500);
    const wrong = texts.filter(existsSync).flatMap((name) => {
      const calls = readFileSync(name, "utf8").matchAll(
        /\bnpx\b(?:[ "',]+(?!cross-border\b)[^\s"',]+)*[ "',]+cross-border(?![\w-])/g,
      );
      return [...calls]
        .filter(([call]) => !/-p[ "',]+cross-border-payments\b|--no-install/.test(call))
        .map(([call]) => `${name}: ${call}`);
    });
    expect(wrong).toEqual([]);
  });

  it.each<[said: string, line: string[]]>([
    ['there is no command "sign"', ["sign"]],
    ["keys needs another word: keys generate, keys show", ["keys"]],
    ["keys needs another word: keys generate, keys show", ["keys", "--json"]],
    ['there is no command "keys delete"; there are keys generate, keys show', ["keys", "delete"]],
    ["FILE is missing", ["keys", "show"]],
    ['"b" is one word too many', ["keys", "show", "a", "b"]],
    ["Unknown option '--out'", ["keys", "show", "a", "--out", "b"]],
    ["--trusted-keys FILE is missing", ["verify", "-"]],
    ['there is no command "payment"; did you mean payments list?', ["payment", "list"]],
    ['there is no command "doctr"; did you mean doctor?', ["doctr"]],
    ['there is no command "keys genrate"; did you mean keys generate?', ["keys", "genrate"]],
    ['there is no command "list"; did you mean payments list?', ["list", "payments"]],
    ["Unknown option '--verson'; did you mean --version?", ["--verson"]],
    ...["show", "get"].map((word): [string, string[]] => [
      `payments ${word}: the service has no operation that reads a single payment; try: payments list --filter id=x-1`,
      ["payments", word, "x-1", "--config", "gateway.json"],
    ]),
    ["reads a single payment; try: payments list --filter id=ID", ["payments", "show", "--config", "gateway.json"]],
    [
      "payment-intents list: the service has no operation that lists payment intents; try: payment-intents show ID",
      ["payment-intents", "list"],
    ],
    ["Unknown option '--fitler'; did you mean --filter?", ["payments", "list", "--fitler", "a=b"]],
    ["Unknown option '--filt'; did you mean --filter?", ["payments", "list", "--filt=a=b"]],
    ["Unknown option '-f'; did you mean --filter?", ["payments", "list", "-filter", "a=b"]],
    ["Unknown option '--nothing'", ["doctor", "--nothing"]],
    ["--ca FILE is empty", ["doctor", "--ca", ""]],
    [
      "payments have no field recieverAmount; did you mean receiverAmount?",
      ["payments", "list", "--fields", "recieverAmount"],
    ],
    ["payments have no field createdat; did you mean createdAt?", ["payments", "list", "--sort", "createdat.asc"]],
    ["payments have no field nothing; they have id", ["payments", "list", "--sort", "nothing.asc"]],
    [
      '--sort "createdAt" does not say in which direction: createdAt.asc or createdAt.desc',
      ["payments", "list", "--sort", "createdAt"],
    ],
    ["does not say in which direction", ["payments", "list", "--sort", "createdAt.up"]],
    ["does not say in which direction", ["payments", "list", "--sort", ""]],
    ["did you mean receiverGatewayStatus?", ["payments", "list", "--filter", "recieverGatewayStatus=error"]],
    ["--after is a paging token", ["payments", "list", "--after", ""]],
  ])("says: %s", async (said, line) => {
    const { code, stdout, stderr } = await run(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^cross-border: .*\nSee npx -p cross-border-payments cross-border .*--help\n$/);
    expect(stderr).toContain(said);
  });

  const swapped = (word: string) => word.replace(/(.)(.)$/, "$2$1");

  it.each(commands)("names what was meant of $name and its options", async ({ name, options }) => {
    const { stderr } = await run(swapped(name).split(" "));
    expect(stderr).toContain(`did you mean ${name}?`);
    for (const option of Object.keys(options).filter((one) => one.length > 3)) {
      const wrong = await run([...name.split(" "), `--${swapped(option)}`]);
      expect(wrong.stderr).toContain(`Unknown option '--${swapped(option)}'; did you mean --${option}?`);
    }
  });

  it("is documented with every exit code", () => {
    const table = readFileSync("docs/command.md", "utf8").split("| exit code | |\n|---|---|\n")[1]?.split("\n\n")[0];
    const codes = [...(table ?? "").matchAll(/^\| (\d+) \| .+ \|$/gm)].map(([, code]) => Number(code));
    // The last is that of programs whose output nobody reads: see cli.ts.
    expect(codes).toEqual([...Object.values(exitCodes), 141]);
    for (const code of Object.values(exitCodes)) expect(helpCodes()).toContain(code);
  });

  it("fails where a file is not there", async () => {
    const { code, stderr } = await run(["keys", "show", "/nowhere/key.pem"]);
    expect(code).toBe(3);
    expect(stderr).toBe("cross-border: ENOENT: no such file or directory, open '/nowhere/key.pem'\n");
  });
});

function helpCodes(): number[] {
  const [, listed = ""] = /Exit codes: (.*)\.$/m.exec(overview(commands)) ?? [];
  return listed.split(", ").map((code) => Number.parseInt(code, 10));
}

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

  it("fails where a line is too long for any record", () => {
    writeFileSync(join(folder, "keys.json"), "{}");
    const verify = `'${process.execPath}' ${command} verify - --trusted-keys '${join(folder, "keys.json")}'`;
    const line = `head -c ${isThorough ? 550_000_000 : 70_000_000} /dev/zero | tr '\\0' x | ${verify}`;
    const { status, stderr, stdout } = spawnSync("sh", ["-c", line], { encoding: "utf8", env });
    const said = `cross-border: stdin: line 1 has more than 64 MiB, so it is no record\nSee ${docUrlOf("invalid_argument")}\n`;
    expect({ status, stderr, stdout }).toEqual({ status: 3, stderr: said, stdout: "" });
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
