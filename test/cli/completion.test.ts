import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.js";
import { run } from "./run.js";

const folder = temporaryFolder();

const lines = (text: string) => text.split("\n").filter((line) => line !== "");

it.each<[words: string[], found: string[]]>([
  [["pay"], ["payment-gateways", "payments", "payment-intents"]],
  [
    ["keys", ""],
    ["generate", "show"],
  ],
  [["payments", ""], ["list"]],
  [
    ["payments", "list", "--fo"],
    ["--follow", "--format"],
  ],
  [["payments", "list", "--base"], ["--base-url"]],
  [
    ["payments", "list", "--format", ""],
    ["table", "csv", "json", "ndjson"],
  ],
  [["payments", "list", "--limit", "2", "--format", "n"], ["ndjson"]],
  [["payments", "list", "--out", ""], []],
  [["flows", "list", "--phase", "h"], ["held"]],
  [
    ["completion", ""],
    ["bash", "zsh", "fish"],
  ],
])("completes %j", async (words, found) => {
  const { code, stdout } = await run(["complete", "--", ...words]);
  expect({ code, found: lines(stdout).sort() }).toEqual({ code: 0, found: found.sort() });
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
