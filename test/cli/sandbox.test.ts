import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
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
  expect(stdout).toMatch(/^console +http:\/\/127\.0\.0\.1:\d+\/console\/ \(open it in a browser; no login\)$/m);
  const word = /^ {2}cross-border doctor --config (.*)$/m.exec(stdout)?.[1] ?? "";
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
      const { stdout } = await run(["doctor", "--service", "--wait", "1ms", "--config", settings, "--json"]);
      expect(JSON.parse(stdout).questions).toMatchObject([
        { id: "size", value: { largest: 3 } },
        { id: "bounds", value: { _after: "inclusive", _before: "exclusive" } },
        ...Array.from({ length: 8 }, () => ({})),
      ]);
    },
    "--options",
    file("like-yours.json"),
  );
  expect(result).toMatchObject({ code: 0, stderr: "" });
});

it.each([
  ["[]", 3, "is not a JSON object of the sandbox's options"],
  ['{"port": 1}', 3, "the command sets port itself"],
  ['{"quirks": {"inclusiveBounds": "all"}}', 3, 'quirks: inclusiveBounds must be "none" or "after"'],
  ['{"quirks": {"slow": true}}', 3, 'quirks: unknown option "slow"; the options are inclusiveBounds'],
])("refuses the options %s", async (text, code, message) => {
  writeFileSync(file("wrong.json"), text);
  const result = await run(["sandbox", "--options", file("wrong.json")]);
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(message);
});

it("starts again in the folder of a sandbox that was killed", async () => {
  const folder = file("killed");
  const child = spawn(process.execPath, [command, "sandbox", "--folder", folder], {
    stdio: "ignore",
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
  });
  while (!existsSync(join(folder, "trusted-keys.json"))) await sleep(20);
  child.kill("SIGKILL");
  await once(child, "close");
  const left = readFileSync(join(folder, "alpha-bank.json"), "utf8");
  const { code } = await whileRunning("killed", async ({ settings }) => {
    while (readFileSync(settings, "utf8") === left) await sleep(5);
  });
  expect(code).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
});

it("removes only what it has written", async () => {
  mkdirSync(file("shared"));
  await whileRunning("shared", async ({ folder }) => writeFileSync(join(folder, "mine.txt"), "mine"));
  expect(readdirSync(file("shared"))).toEqual(["mine.txt"]);
  const again = await whileRunning("shared", async () => {});
  expect(again.code).toBe(3);
  expect(again.stderr).toContain(`${file("shared")} has files that are not a sandbox's, such as mine.txt`);
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
    expect((await run(["sandbox", `--port=${none}`])).stderr).toContain("Give a number from 1 to 65535");
  }
});
