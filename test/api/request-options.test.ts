import { describe, expect, it } from "vitest";
import { parseRequestOptions } from "../../src/api/request-options.js";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { operations } from "../../src/resources/catalogue.js";

const rows = [...operations.values()];

describe("the query option", () => {
  it.each(rows.filter(({ verb }) => verb !== "get"))("is refused by $name, which would ignore it", (row) => {
    const check = () => parseRequestOptions(row, { query: {} } as object);
    expect(check).toThrow(InvalidArgumentError);
    expect(check).toThrow(
      `${row.name}: unknown option "query"; the options are signal, timeoutMs, maxRetries, headers`,
    );
  });

  it.each(rows.filter(({ verb }) => verb === "get"))("is taken by $name", (row) => {
    expect(() => parseRequestOptions(row, { query: { id: "1" } } as object)).not.toThrow();
    expect(() => parseRequestOptions(row, { query: "id=1" } as object)).toThrow(
      `${row.name}: query must be an object of the record's fields; got a string`,
    );
  });
});
