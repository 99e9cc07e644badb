import { describe, expect, it, vi } from "vitest";
import { SchemaLoader } from "../../src/http/schema.js";
import { operations } from "../../src/resources/catalogue.js";
import { payments } from "../../src/resources/payments.js";
import { recordOf } from "./scripted-transport.js";

const made = vi.hoisted(() => ({ schemas: 0 }));

vi.mock("zod/v4/core", async (importOriginal) => {
  const zod = await importOriginal<typeof import("zod/v4/core")>();
  const compile: typeof zod.compile = (...args) => {
    made.schemas += 1;
    return zod.compile(...args);
  };
  return { ...zod, compile };
});

describe("the schemas", () => {
  it("are made on first use and once, however many calls there are", async () => {
    const schemas = await new SchemaLoader().load();
    const before = made.schemas;
    const use = () => {
      for (const row of operations.values()) {
        schemas.mismatches(row, row.verb === "list" ? [] : recordOf(row.record), 100);
      }
    };
    expect(before).toBe(0);
    use();
    const once = made.schemas;
    for (let index = 0; index < 50; index++) use();
    expect(once).toBeGreaterThan(0);
    expect(made.schemas).toBe(once);
  });

  it.each([...operations.values()])("find nothing in a record as described: $name", async (row) => {
    const schemas = await new SchemaLoader().load();
    const record = recordOf(row.record);
    const response = row.verb === "list" ? [record, { ...record }] : record;
    expect(schemas.mismatches(row, response, 100)).toEqual([]);
  });

  it("tell that a field is missing", async () => {
    const schemas = await new SchemaLoader().load();
    const { extras: _, ...record } = recordOf(payments.create.record);
    expect(schemas.mismatches(payments.create, record, 100)).toEqual([
      { field: "extras", expected: "any value, null included", found: "undefined" },
    ]);
  });
});
