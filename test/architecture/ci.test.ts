import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, it } from "vitest";
import { parseDocument } from "yaml";

const read = (path: string) => readFileSync(path, "utf8");
const { scripts, repository, homepage, bugs } = JSON.parse(read("package.json"));
const yamlFiles = readdirSync(".github", { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".yml"))
  .map((path) => posix.join(".github", path.replaceAll("\\", "/")));

it.each(yamlFiles)("%s is well-formed", (path) => {
  expect(parseDocument(read(path)).errors).toEqual([]);
});

it("tests on the same versions of Node in the workflow as in .ci/run", () => {
  const matrix = /^ +node: \[(.*)\]$/m.exec(read(".github/workflows/check.yml"))?.[1]?.split(", ");
  const lists = [...read(".ci/run").matchAll(/^\w+_nodes?="?([\d. ]+)"?$/gm)].map(([, list = ""]) => list);
  const inRun = lists.flatMap((list) => list.split(" ").map((version) => version.split(".")[0]));
  expect(matrix).toEqual([...new Set(inRun)].sort());
  expect(matrix?.length).toBeGreaterThan(1);
});

it("runs the packed tarball on the oldest Node that the package and the README name", () => {
  const oldest = /^oldest_node=(.+)$/m.exec(read(".ci/run"))?.[1];
  expect(read(".ci/run")).toContain('run-on-node.sh "$oldest_node"');
  expect(JSON.parse(read("package.json")).engines.node).toBe(`>=${oldest}`);
  expect(read("README.md")).toContain(`Node ${oldest} or newer`);
});

it.each([...yamlFiles, ".ci/run", "README.md", "CONTRIBUTING.md"])("%s calls only npm scripts that exist", (path) => {
  const called = [...read(path).matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name);
  expect(called.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

it("pins every action to a commit", () => {
  const uses = yamlFiles.flatMap((path) => [...read(path).matchAll(/uses: (.*)/g)].map(([, action = ""]) => action));
  expect(uses.length).toBeGreaterThan(4);
  for (const action of uses) expect(action).toMatch(/^\.\/|@[0-9a-f]{40} # v\d/);
});

it("names one repository everywhere", () => {
  const address = `https://github.com/${repository.replace(/^github:/, "")}`;
  expect({ homepage, bugs }).toEqual({ homepage: `${address}#readme`, bugs: `${address}/issues` });
  expect(read(".github/ISSUE_TEMPLATE/config.yml")).toContain(`url: ${address}/security/advisories/new\n`);
  for (const path of ["README.md", "AGENTS.md", "CHANGELOG.md"]) {
    const named = [...read(path).matchAll(/https:\/\/(?:github|raw\.githubusercontent)\.com\/([^/]+\/[^/)]+)/g)];
    expect(
      named.filter(([, name]) => `github:${name}` !== repository),
      path,
    ).toEqual([]);
  }
});
