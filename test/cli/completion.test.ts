import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { run } from "./run.js";

const folder = temporaryFolder();
const home = temporaryFolder();
const file = (name: string) => join(folder, name);
const isHere = (shell: string) => spawnSync(shell, ["--version"]).error === undefined;

beforeAll(async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await run(["completion", shell]);
    expect(code).toBe(0);
    writeFileSync(file(`script.${shell}`), stdout);
  }
  writeFileSync(file("my gateway.json"), "{}");
});

/** What a shell offers for the last of these words, which follow the program's name. */
type Complete = (words: readonly string[]) => readonly string[];

const lines = (text: string) => text.split("\n").filter((line) => line !== "");

const completes: Readonly<Record<string, Complete>> = {
  bash: (words) =>
    lines(
      execFileSync(
        "bash",
        [
          ...["--norc", "-c"],
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash's
          'source "$0"; COMP_WORDS=(cross-border "$@"); COMP_CWORD=$#; _cross_border; printf "%s\\n" "${COMPREPLY[@]}"',
          ...[file("script.bash"), ...words],
        ],
        { cwd: folder, encoding: "utf8" },
      ),
    ),
  // Its line editor is none that a program could use: what completes here is the function alone, over stand-ins of zsh's own.
  zsh: (words) =>
    lines(
      execFileSync(
        "zsh",
        [
          ...["-f", "-c"],
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is zsh's
          'compdef() { : }; compadd() { shift; print -l -- ${(M)@:#${words[CURRENT]}*} }; _files() { print -l -- ${words[CURRENT]}*(N) }; source "$0"; words=(cross-border "$@"); CURRENT=$(($# + 1)); _cross_border',
          ...[file("script.zsh"), ...words],
        ],
        { cwd: folder, encoding: "utf8" },
      ),
    ),
  fish: (words) => {
    const line = ["cross-border", ...words].map((word) => word.replaceAll(" ", "\\ ")).join(" ");
    const asked = ["--no-config", "-c", "source $argv[1]; complete -C $argv[2]", file("script.fish"), line];
    const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home };
    const said = execFileSync("fish", asked, { cwd: folder, encoding: "utf8", env });
    return lines(said).map((one) => one.split("\t")[0] ?? "");
  },
};

describe.each(Object.entries(completes))("%s", (shell, complete) => {
  it.skipIf(!isHere(shell))("reads the script", () => {
    const { status, stderr } = spawnSync(shell, ["-n", file(`script.${shell}`)], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it.skipIf(!isHere(shell))("completes every command", () => {
    const first = new Set(commands.map(({ name }) => name.split(" ")[0] ?? ""));
    const offered = complete([""]).filter((word) => !word.startsWith("-"));
    expect(offered.toSorted()).toEqual([...first, "help"].toSorted());
    expect(complete(["pay"]).toSorted()).toEqual(["payment-gateways", "payment-intents", "payments"]);
    expect(complete(["help", "doc"])).toEqual(["doctor"]);
    expect(complete(["--v"])).toEqual(["--version"]);
    for (const word of first) {
      const seconds = commands.flatMap(({ name }) =>
        name.startsWith(`${word} `) ? [name.slice(word.length + 1)] : [],
      );
      const following = complete([word, ""]).filter((one) => one !== "--help" && !one.includes("."));
      expect(following.toSorted(), word).toEqual(seconds.toSorted());
    }
  });

  it.skipIf(!isHere(shell)).each(commands.map((command) => [command.name, command] as const))(
    "completes the options of %s",
    (name, { options }) => {
      const offered = complete([...name.split(" "), "--"]);
      expect(offered.toSorted()).toEqual([...Object.keys(options).map((option) => `--${option}`), "--help"].toSorted());
    },
  );

  it.skipIf(!isHere(shell))("completes what a value can be", () => {
    expect(complete(["payments", "list", "--format", ""]).toSorted()).toEqual(["csv", "ndjson", "table"]);
    expect(complete(["payments", "list", "--limit", "2", "--format", "n"])).toEqual(["ndjson"]);
    expect(complete(["payments", "list", "--config", "my"]).map((one) => one.replace("\\", ""))).toEqual([
      "my gateway.json",
    ]);
    expect(complete(["keys", "show", "scr"]).toSorted()).toEqual(["script.bash", "script.fish", "script.zsh"]);
    expect(complete(["payments", "list", "--filter", ""])).toEqual([]);
  });
});

it("refuses another shell", async () => {
  for (const shell of ["tcsh", "constructor"]) {
    const { code, stdout, stderr } = await run(["completion", shell]);
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 2, stdout: "" },
      stderr: expect.stringContaining("SHELL is one of bash, zsh, fish"),
    });
  }
});
