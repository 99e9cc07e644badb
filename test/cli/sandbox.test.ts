import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../src/sandbox/index.js";
import { deferred } from "../support/deferred.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { type CommandResult, run } from "./run.js";

const base = temporaryFolder();
const file = (name: string) => join(base, name);

/** Runs the command until `use` is through. */
async function whileRunning(
  name: string,
  use: (folder: string) => Promise<void> | void,
  ...more: readonly string[]
): Promise<CommandResult> {
  const folder = file(name);
  const { promise: stopped, resolve: stop } = deferred();
  const { promise: listens, resolve: noteListening } = deferred();
  const onText = (stream: string) => stream === "stdout" && noteListening();
  const running = run(["sandbox", "--folder", folder, ...more], { stopped, onText });
  try {
    if ((await Promise.race([listens, running])) === undefined) await use(folder);
  } finally {
    stop();
  }
  return running;
}

it("has gateways, keys and records with which the other commands work at once", async () => {
  const result = await whileRunning("whole", async (folder) => {
    const config = join(folder, "alpha-bank.json");
    for (const gateway of ["alpha-bank", "beta-mobile"]) {
      expect((await run(["doctor", "--config", join(folder, `${gateway}.json`)])).code).toBe(0);
    }
    const { stdout: payments } = await run(["payments", "list", "--config", config]);
    const statuses = payments.match(/"receiverGatewayStatus":"\w+"/g)?.map((text) => text.slice(25, -1));
    expect(statuses).toHaveLength(24);
    expect(new Set(statuses)).toEqual(new Set(["processed", "error", "reverted", "pending"]));
    expect(new Set(payments.match(/"createdAt":"[^T"]+/g)).size).toBeGreaterThan(1);
    const line = ["verify", "-", "--trusted-keys", join(folder, "trusted-keys.json")];
    expect((await run(line, { stdin: payments })).code).toBe(0);
  });
  expect(result).toMatchObject({ code: 0, stderr: "" });
});

it("says where everything is, quoted for a shell, never the password, and leaves nothing behind", async () => {
  let password = "";
  const { stdout } = await whileRunning("it's told", (folder) => {
    ({ password } = JSON.parse(readFileSync(join(folder, "alpha-bank.json"), "utf8")));
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });
  expect(stdout).not.toContain(password);
  expect(stdout).toMatch(/^console +http:\/\/127\.0\.0\.1:\d+\/console\/ \(open it in a browser; no login\)$/m);
  const word = /^ {2}cross-border doctor --config (.*)$/m.exec(stdout)?.[1] ?? "";
  expect(execFileSync("sh", ["-c", `printf %s ${word}`], { encoding: "utf8" })).toBe(file("it's told/alpha-bank.json"));
  expect(existsSync(file("it's told"))).toBe(false);
});

it("tells programs on one line, and is a service like yours, by options of a file", async () => {
  writeFileSync(file("like-yours.json"), JSON.stringify({ maxSize: 3 }));
  const use = async (folder: string) => {
    const line = ["payments", "list", "--size", "50", "--limit", "4", "--config", join(folder, "alpha-bank.json")];
    expect((await run(line)).stdout.split("\n")).toHaveLength(5);
  };
  const { stdout } = await whileRunning("programs", use, "--json", "--options", file("like-yours.json"));
  expect(stdout.split("\n")).toHaveLength(2);
  expect(JSON.parse(stdout)).toMatchObject({
    baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/gateway\/v1$/),
    consoleUrl: expect.stringContaining("/console/"),
    settings: { "alpha-bank": file("programs/alpha-bank.json") },
  });
});

it.each([
  ["[]", "is not a JSON object of the sandbox's options"],
  ['{"quirks": {"slow": true}}', 'quirks: unknown option "slow"; the options are inclusiveBounds'],
])("refuses the options %s", async (text, said) => {
  writeFileSync(file("wrong.json"), text);
  const { code, stderr } = await run(["sandbox", "--options", file("wrong.json")]);
  expect([code, stderr]).toEqual([3, expect.stringContaining(said)]);
});

it("starts again in the folder of a sandbox that was killed, removes what is its own, and refuses other folders", async () => {
  let left = "";
  await whileRunning("killed", (folder) => {
    left = readFileSync(join(folder, "alpha-bank.json"), "utf8");
    // As a kill leaves it: another sandbox starts while the files are there.
    return whileRunning("killed", () => {
      expect(readFileSync(join(folder, "alpha-bank.json"), "utf8")).not.toBe(left);
      writeFileSync(join(folder, "mine.txt"), "mine");
    }).then(({ code }) => expect(code).toBe(0));
  });
  expect(readdirSync(file("killed"))).toEqual(["mine.txt"]);
  const { code, stderr } = await whileRunning("killed", () => {});
  expect([code, stderr]).toEqual([3, expect.stringContaining("that are not a sandbox's, such as mine.txt")]);
});

it("says that a port is taken, or is none, and leaves nothing behind", async () => {
  await using other = await startSandbox();
  const { port } = new URL(other.url);
  const { code, stderr } = await whileRunning("taken", () => {}, "--port", port);
  expect([code, stderr]).toEqual([3, expect.stringContaining(`can't listen on port ${port} of 127.0.0.1: EADDRINUSE`)]);
  expect(existsSync(file("taken"))).toBe(false);
  expect((await run(["sandbox", "--port=65536"])).stderr).toContain("Give a number from 1 to 65535");
});
