import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";
import type { Operation } from "../src/api/operation.js";
import { sources } from "../src/cli/lists/list.js";
import { programOf } from "../src/cli/program.js";
import { clientOptions } from "../src/client-options.js";
import type { Check } from "../src/core/parse.js";
import { readResolution, resolutionOptions } from "../src/flows/operate.js";
import { flowOptions } from "../src/flows/options.js";
import { listPaymentsOptions, reconcileOptions, watchOptions } from "../src/reconcile/options.js";
import { catalogue } from "../src/resources/catalogue.js";
import { openApiText } from "../tools/openapi/document.js";
import { commandPaths, terminalOf } from "./cli/run.js";
import { namesReadIn } from "./support/names-read.js";

/** The rows of the first table below a heading of a document. Where one differs from the code, paste the one that was expected. */
function tableUnder(heading: string, document: string): string[] {
  const section = readFileSync(document, "utf8").split(`\n## ${heading}\n`)[1]?.split("\n## ")[0];
  expect(section, `${document} has no section "${heading}"`).toBeDefined();
  const table = /(?:^\|.*\n)+/m.exec(section ?? "")?.[0] ?? "";
  return table.trim().split("\n").slice(2);
}

/** `client.liquidityProviders.deposits(liquidityProviderId)`, its verbs, and its name in the command with the options that it needs. */
function resourceRow(resource: Readonly<Record<string, Operation>>): string {
  const rows = ["create", "get", "update", "list"].flatMap((verb) => resource[verb] ?? []);
  const place = (rows[0]?.name ?? "").split(".").slice(0, -1).join(".");
  // Those that all of its rows have: a single record has an id more.
  const ids = rows.map(({ path }) => path.parameters).sort((one, other) => one.length - other.length)[0] ?? [];
  const verbs = rows.map(({ verb, signed }) => `\`${verb}\`${signed ? " (signed)" : ""}`);
  const { name = "", parents = [] } = sources.find(({ list, get }) => rows.some((row) => row === (list ?? get))) ?? {};
  const command = [name, ...parents.map((parent) => `--${parent} ID`)].join(" ");
  return `| \`client.${place}${ids.length === 0 ? "" : `(${ids.join(", ")})`}\` | ${verbs.join(" ")} | \`${command}\` |`;
}

/** A row for each member of an interface, from its comment, which ends with its default. */
function membersOf(file: string, name: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const found = source.statements.filter(ts.isInterfaceDeclaration).find((each) => each.name.text === name);
  return (found?.members ?? []).map((member) => {
    const comments = ts.getJSDocCommentsAndTags(member).map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? "");
    const [, text, byDefault] = /^(.+) Default: (.+)\.$/s.exec(comments.join(" ").replace(/\s+/g, " ")) ?? [];
    return `| \`${member.name?.getText(source)}\` | ${byDefault} | ${text?.replace(/\.$/, "")} |`;
  });
}

it("has a row for every resource, with all of its verbs, and how the command lists and shows it", () => {
  expect(tableUnder("Resources", "docs/api-calls.md")).toEqual(catalogue.map(resourceRow));
});

it("is in openapi.json as `npm run api` writes it", () => {
  expect(readFileSync("openapi.json", "utf8") === openApiText(), "run npm run api").toBe(true);
});

it.each<[what: string, document: string, options: Readonly<Record<string, Check<unknown>>>]>([
  ["the client", "client", clientOptions],
  ["the durable flow", "durable-flow", flowOptions],
  ["watchPayments", "reconcile", watchOptions],
  ["reconcilePayments", "statement", reconcileOptions],
  ["listPayments", "statement", listPaymentsOptions],
])("has a row for every option of %s, with its default", (_, document, options) => {
  const tables = readFileSync(`docs/${document}.md`, "utf8").match(/(?:^\| `.*\n)+/gm) ?? [];
  const rows = tables.map((table) => Array.from(table.matchAll(/^\| `(\w+)` \| (.*?) \|/gm), ([, ...cells]) => cells));
  const table = rows.find((row) => String(row.map(([name]) => name).sort()) === String(Object.keys(options).sort()));
  expect(table, `no table of ${document}.md has the rows ${Object.keys(options)}`).toBeDefined();
  const scalars = Object.entries(options).filter(
    ([, option]) => typeof option.default !== "object" && option.default !== undefined,
  );
  for (const [name, option] of scalars) {
    const shown =
      typeof option.default === "number" ? option.default.toLocaleString("en-US") : JSON.stringify(option.default);
    expect(table).toContainEqual([name, expect.stringMatching(`^\`?${shown}\`?$`)]);
  }
});

it("names all that an operator's decision is made of", () => {
  const code =
    readFileSync("docs/held-flows.md", "utf8")
      .match(/`[^`\n]+`/g)
      ?.join(" ") ?? "";
  expect(Object.keys(resolutionOptions).filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
});

it.each(Object.keys(resolutionOptions))(
  "keeps %s of an operator's decision, for which the command has an option",
  (name) => {
    const known: Readonly<Record<string, unknown>> = { revision: 4, payment: { id: "p-1" }, withoutProof: true };
    const given = { by: "olga", why: "ticket 4711", [name]: known[name] ?? "text" };
    const { decision, revision } = readResolution("resolve", name === "payment" ? "found" : "release", given);
    expect({ ...decision, revision }).toMatchObject(given);
    const flows = programOf(terminalOf()).commands.find((command) => command.name() === "flows");
    const resolve = flows?.commands.find((command) => command.name() === "resolve");
    expect(resolve?.options.map((option) => option.attributeName())).toContain(name);
  },
);

it("has a row for every option of the sandbox and its server, with its default", () => {
  const sandbox = membersOf("src/sandbox/options.ts", "SandboxOptions");
  const server = membersOf("src/sandbox/server.ts", "SandboxServerOptions");
  expect(tableUnder("Options", "docs/sandbox.md")).toEqual([...sandbox, ...server]);
});

it("has a row for every quirk of the sandbox, with its default", () => {
  expect(tableUnder("Quirks", "docs/sandbox.md")).toEqual(membersOf("src/sandbox/options.ts", "SandboxQuirks"));
});

it("names every other command in the table of commands", () => {
  const table = /^\| command \|.*\n(?:\|.*\n)+/m.exec(readFileSync("docs/command.md", "utf8"))?.[0] ?? "";
  const resources = sources.map(({ name }) => name);
  const others = commandPaths().filter((path) => !resources.some((name) => path.startsWith(`${name} `)));
  expect(others.length).toBeGreaterThan(10);
  expect(others.filter((name) => !new RegExp(`\`${name}[ \`]`).test(table))).toEqual([]);
});

it("describes no option that the client does not use", () => {
  const used = new Set([...namesReadIn("src/client.ts"), ...namesReadIn("src/client-options.ts", ["resolveOptions"])]);
  expect(Object.keys(clientOptions).filter((name) => !used.has(name))).toEqual([]);
});
