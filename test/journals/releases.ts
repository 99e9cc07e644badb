import { cpSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { PaymentIntentRequest } from "cross-border-payments";
import { newFile } from "./sqlite-fixture.js";

const fileOf = (name: string) => fileURLToPath(new URL(`releases/${name}`, import.meta.url));

/** A request, and what each of its keys ended as. `releases/write.mjs` wrote it. */
export const release03: {
  readonly request: PaymentIntentRequest;
  readonly outcomes: Readonly<Record<string, string>>;
} = JSON.parse(readFileSync(fileOf("0.3.0.json"), "utf8"));

/** A copy of a SQLite file that a release left behind, such as `0.3.0`. `0.3.0-open` has open flows, too. */
export function sqliteOf(name: string): string {
  const path = newFile();
  cpSync(fileOf(`${name}.sqlite`), path);
  return path;
}

/** SQL that makes the PostgreSQL tables that a release left behind. */
export function postgresOf(name: string, schema: string): string {
  const tables = readFileSync(fileOf(`${name}.sql`), "utf8");
  return `CREATE SCHEMA "${schema}"; ${tables.replaceAll("public.cross_border_flows", `"${schema}".cross_border_flows`)}`;
}
