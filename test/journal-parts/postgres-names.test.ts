import { expect, it } from "vitest";
import { assertPostgresNames } from "../../src/journals/postgres-names.js";

it("takes names that stand in SQL as they are, and says which one does not", () => {
  assertPostgresNames("Tokens", { schema: "_a1", table: "B".repeat(40) });
  for (const name of ["", "1a", "a-b", "a b", 'a"', "é", "a".repeat(41), 7, undefined]) {
    expect(() => assertPostgresNames("Tokens", { schema: "good", table: name })).toThrow(
      "Tokens: table must be 1 to 40 letters, digits and underscores, and must not begin with a digit",
    );
  }
});
