import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { fieldKinds, kindOfField } from "../../src/api/fields.js";
import type { Operation } from "../../src/api/operation.js";
import { catalogue, describedVersion, operations } from "../../src/resources/catalogue.js";
import { describedOperations, fields } from "../contract/described-api.js";

/** The files of `src/resources`, without `.ts`. */
const files = readdirSync("src/resources")
  .map((file) => file.replace(/\.ts$/, ""))
  .filter((file) => file !== "catalogue");

/** What `resource` makes: an object of rows, each under its verb. */
function isRows(value: unknown): value is Readonly<Record<string, Operation>> {
  if (typeof value !== "object" || value === null) return false;
  const entries = Object.entries<Partial<Operation>>({ ...value });
  return entries.length > 0 && entries.every(([key, row]) => row?.verb === key && row.path !== undefined);
}

it("has a row for every operation of the description, signed as it says, and for no other", () => {
  const rows = [...operations.values()].map(({ name, method, path, signed }) => [
    name,
    `${method} ${path.text.replace(/\{\w+\}/g, "{}")}${signed ? ", signed" : ""}`,
  ]);
  const described = Object.entries(describedOperations).map(([name, { text, mustBeSigned }]) => [
    name,
    text.replace(/\{\w+\}/g, "{}") + (mustBeSigned ? ", signed" : ""),
  ]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(described));
});

it.each(files)("has the rows of src/resources/%s.ts", async (file) => {
  const rows = Object.values<unknown>(await import(`../../src/resources/${file}.ts`)).filter(isRows);
  expect(rows).not.toEqual([]);
  expect(catalogue).toEqual(expect.arrayContaining(rows));
});

it.each(files)("has the types of src/resources/%s.ts in the package's public types", (file) => {
  const text = readFileSync(`src/resources/${file}.ts`, "utf8");
  const exported = Array.from(text.matchAll(/^export (?:interface|class|type) (\w+)/gm), ([, name = ""]) => name);
  expect(exported).not.toEqual([]);
  const [, names = ""] =
    new RegExp(`^export (?:type )?\\{([^}]*)\\} from "./resources/${file}.js"`, "m").exec(
      readFileSync("src/index.ts", "utf8"),
    ) ?? [];
  const known = names.split(/\W+/);
  const missing = exported.filter((name) => !known.includes(name));
  expect(missing, "types that src/index.ts does not export").toEqual([]);
});

it.each([...operations.values()])(
  "has the body, the query, and the record of $name",
  ({ name, body, query, record }) => {
    const { sends, filters, kind = "gateway" } = describedOperations[name] ?? {};
    expect(Object.keys(body?.fields ?? {}).sort()).toEqual([...(sends ?? [])].sort());
    // Filters of payments are not shown.
    if (query !== "open") expect(Object.keys(query ?? {}).sort()).toEqual([...(filters ?? [])].sort());
    expect(Object.keys(record).sort()).toEqual([...fields[kind]].sort());
  },
);

it("knows each signed create by a field that comes back, and its signer by a field or a part of its path", () => {
  const signed = [...operations.values()].filter(({ verb, signed }) => verb === "create" && signed);
  expect(signed.length).toBeGreaterThan(0);
  for (const { body, identifiedBy = "", path, signer } of signed) {
    expect(body?.fields).toHaveProperty(identifiedBy);
    expect([...path.parameters, ...Object.keys(body?.fields ?? {})]).toContain(signer);
  }
});

/** Fields whose names speak of accounts, and whose values may be shown. */
const isAddress: ReadonlySet<string> = new Set(["accountVerificationEndpoint"]);

it.each([...operations.values()])("keeps what the names of $name's fields call confidential out of messages", (row) => {
  const named = Object.keys(row.record).filter(
    (field) => /account|password|secret|bearerToken/i.test(field) && !isAddress.has(field),
  );
  const shown = named.filter((field) => {
    const kind = kindOfField(row.record, field);
    return kind === undefined || fieldKinds[kind].isConfidential !== true;
  });
  expect(shown, "fields that need the kind `secret` or `account`").toEqual([]);
});

it("follows one version of the description, which its comments and openapi.json name", () => {
  const cited = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [...readFileSync(`src/${file}`, "utf8").matchAll(/Interface description ([\d.]*\d)/g)]);
  expect(new Set(cited.map(([, version]) => version))).toEqual(new Set([describedVersion]));
  expect(JSON.parse(readFileSync("openapi.json", "utf8")).info.version).toBe(describedVersion);
});

/** The comment of each method that is a verb, by the name of its operation: the row that the method calls. */
const comments = new Map(
  files.flatMap((file) => {
    const text = readFileSync(`src/resources/${file}.ts`, "utf8");
    const rows = /resource<[^>]*>\(\)\(\s*"([\w.]+)"/.exec(text)?.[1];
    const methods = text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*?)(?:@[\s\S]*?)?\*\/\s+(?:async )?(\w+)[<(]/g);
    return Array.from(methods, ([, comment = "", verb]) => [`${rows}.${verb}`, comment.replace(/[\s*]+/g, " ").trim()]);
  }),
);

it.each([...operations.values()])(
  "has a comment on the method of $name with its path, and whether it is signed",
  (row) => {
    const comment = comments.get(row.name) ?? "";
    const path = row.path.text.replace(/\{\w+\}/g, "{id}");
    expect(/^[A-Z][^:]*: (`[^`]+`)\./.exec(comment)?.[1]).toBe(`\`${row.method} ${path}\``);
    expect(/\bSigned\b/.test(comment)).toBe(row.signed);
    if (row.signed || row.verb === "create") expect(/\bnot signed\b/i.test(comment)).toBe(!row.signed);
  },
);
