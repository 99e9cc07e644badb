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

/** The interfaces, classes, and types that a file exports. */
function exportedTypes(path: string): string[] {
  const text = readFileSync(path, "utf8");
  return Array.from(text.matchAll(/^export (?:interface|class|type) (\w+)/gm), ([, name = ""]) => name);
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
  const exported: Readonly<Record<string, unknown>> = await import(`../../src/resources/${file}.ts`);
  const resources = Object.entries(exported).filter(([, value]) => isRows(value));
  expect(resources, "a file of src/resources exports rows").not.toEqual([]);
  const listed: readonly unknown[] = catalogue;
  const missing = resources.filter(([, rows]) => !listed.includes(rows)).map(([name]) => name);
  expect(missing, "rows that are missing in src/resources/catalogue.ts").toEqual([]);
});

it.each(files)("has the types of src/resources/%s.ts in the package's public types", (file) => {
  const exported = exportedTypes(`src/resources/${file}.ts`);
  expect(exported, "a file of src/resources exports an interface and a class").not.toEqual([]);
  const [, names = ""] =
    new RegExp(`^export (?:type )?\\{([^}]*)\\} from "./resources/${file}.js"`, "m").exec(
      readFileSync("src/index.ts", "utf8"),
    ) ?? [];
  const known = names.split(/\W+/);
  const missing = exported.filter((name) => !known.includes(name));
  expect(missing, "types that src/index.ts does not export").toEqual([]);
});

it.each([...operations.values()])("names only fields of the body where $name wants and signs them", (row) => {
  const { body, path, signer } = row;
  const isInBody = signer !== undefined && !path.parameters.includes(signer);
  const named = [...(body?.required ?? []), ...(isInBody ? [signer] : [])];
  const unknown = named.filter((field) => kindOfField(body?.fields ?? {}, field) === undefined);
  expect(unknown).toEqual([]);
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

it("knows each signed create by a field that comes back", () => {
  const signed = [...operations.values()].filter(({ verb, signed }) => verb === "create" && signed);
  expect(signed.length).toBeGreaterThan(0);
  for (const { body, identifiedBy = "" } of signed) expect(body?.fields).toHaveProperty(identifiedBy);
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
