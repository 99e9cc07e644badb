import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("describes every code in docs/errors.md, and no others", () => {
  const source = readFileSync("src/errors/errors.ts", "utf8");
  const unions = source.matchAll(/export type (?:Token)?ErrorCode =\n([\s\S]*?);\n/g);
  const codes = [...unions].flatMap(([, union = ""]) =>
    [...union.matchAll(/\| ["`]([\w${}]+)["`]/g)].map(([, code]) => code),
  );
  const table = /## Codes\n([\s\S]*?)\n## /.exec(readFileSync("docs/errors.md", "utf8"))?.[1] ?? "";
  const rows = [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = ""]) => cell);
  const described = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code));
  expect(codes.length).toBeGreaterThan(20);
  expect(described.filter((code) => !code.startsWith("http_")).sort()).toEqual(
    codes.filter((code) => !code?.startsWith("http_")).sort(),
  );
});
