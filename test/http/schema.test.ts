import { describe, expect, it, vi } from "vitest";
import * as compiled from "../../src/http/compiled-schemas.js";
import * as plain from "../../src/http/plain-schemas.js";
import { SchemaLoader, Schemas } from "../../src/http/schema.js";
import { operations } from "../../src/resources/catalogue.js";
import { payments } from "../../src/resources/payments.js";
import { transfers } from "../../src/resources/transfers.js";
import { withdrawals } from "../../src/resources/withdrawals.js";
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

it("makes schemas on first use and once, however many calls there are", async () => {
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

it("takes the same of zod for Node and for the web", () => {
  expect(Object.keys(plain).sort()).toEqual(Object.keys(compiled).sort());
});

describe.each([
  ["Node", compiled],
  ["the web", plain],
] as const)("the schemas for %s", (_platform, zod) => {
  it.each([...operations.values()])("find nothing in a record as described: $name", async (row) => {
    const schemas = new Schemas(zod);
    const record = recordOf(row.record);
    const response = row.verb === "list" ? [record, { ...record }] : record;
    expect(schemas.mismatches(row, response, 100)).toEqual([]);
  });

  it("tell that a field is missing", async () => {
    const schemas = new Schemas(zod);
    const { extras: _, ...record } = recordOf(payments.create.record);
    expect(schemas.mismatches(payments.create, record, 100)).toEqual([
      { field: "extras", expected: "any value, null included", found: "undefined" },
    ]);
  });

  it.each<[string, object, object]>([
    [
      "an unknown field",
      { colour: "x" },
      { field: "colour", expected: "a field of the description", found: "another string" },
    ],
    ["an unknown field that holds nothing", { colour: null }, { field: "colour", found: "null" }],
    [
      "a field whose name may be anything",
      { DE89370400440532013000: 1 },
      { field: "(unprintable)", found: "a number" },
    ],
    ["a field whose name is a sentence", { "no such account": 1 }, { field: "(unprintable)" }],
    ["a field called __proto__", JSON.parse('{"__proto__":1}'), { field: "__proto__", found: "a number" }],
    [
      "a status of another kind",
      { senderGatewayStatus: "settled" },
      { field: "senderGatewayStatus", expected: "pending, processed, error or reverted", found: "another string" },
    ],
    ["a status in capitals", { receiverGatewayStatus: "PENDING" }, { field: "receiverGatewayStatus" }],
    [
      "a timestamp that is none",
      { createdAt: "yesterday" },
      { field: "createdAt", expected: "an ISO 8601 timestamp in UTC", found: "another string" },
    ],
    ["a timestamp of another zone", { updatedAt: "2026-01-01T00:00:00.000001+02:00" }, { field: "updatedAt" }],
    ["a day that there is not", { createdAt: "2026-13-41T00:00:00Z" }, { field: "createdAt" }],
    ["a timestamp that is a number", { createdAt: 1767225600 }, { field: "createdAt", found: "a number" }],
    ["null", { memo: null }, { field: "memo", expected: "a string", found: "null" }],
    ["an amount with a comma", { senderAmount: "1,5" }, { field: "senderAmount", found: "another string" }],
  ])("tell %s, in a record and in a list", async (_, different, mismatch) => {
    const schemas = new Schemas(zod);
    const record = recordOf(payments.list.record);
    const changed = Object.defineProperties({ ...record }, Object.getOwnPropertyDescriptors(different));
    for (const [row, value] of [
      [payments.create, changed],
      [payments.list, [record, record, changed, record]],
    ] as const) {
      const found = schemas.mismatches(row, value, 1000);
      expect(found).toEqual([expect.objectContaining(mismatch)]);
      expect(JSON.stringify(found)).not.toMatch(/DE89|yesterday|settled|no such/);
    }
  });

  it.each(["2026-01-01T00:00:00.000001Z", "2026-12-31T23:59:60Z", "2026-01-01T00:00:00.123456789Z"])(
    "take %s for a timestamp",
    async (createdAt) => {
      const schemas = new Schemas(zod);
      expect(schemas.mismatches(payments.create, { ...recordOf(payments.create.record), createdAt }, 1000)).toEqual([]);
    },
  );

  it("tell an unknown field beside a missing one", async () => {
    const schemas = new Schemas(zod);
    const { memo: _, ...record } = recordOf(payments.create.record);
    const found = schemas.mismatches(payments.create, { ...record, note: "x" }, 1000);
    expect(found.map(({ field }) => field)).toEqual(["memo", "note"]);
  });

  it("let the status of a withdrawal and the ends of a transfer be anything, as the description does", async () => {
    const schemas = new Schemas(zod);
    const withdrawal = { ...recordOf(withdrawals.get.record), status: "new to us" };
    expect(schemas.mismatches(withdrawals.get, withdrawal, 1000)).toEqual([]);
    expect(schemas.mismatches(transfers.get, { ...recordOf(transfers.get.record), from: "bank" }, 1000)).toEqual([]);
  });

  it("look for 20 differences and no more", async () => {
    const schemas = new Schemas(zod);
    expect(schemas.mismatches(payments.list, Array(1000).fill({}), 3000)).toHaveLength(20);
    const unknown = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [
        `field${"abcdefghij"[index % 10]}${index % 100}x${"y".repeat(index / 20)}`,
        1,
      ]),
    );
    const record = { ...recordOf(payments.list.record), ...unknown };
    expect(schemas.mismatches(payments.list, [record], 3000)).toHaveLength(20);
  });

  it("find the second field that differs however often the first one does", async () => {
    const schemas = new Schemas(zod);
    const record = recordOf(payments.list.record);
    const list = [...Array(500).fill({ ...record, memo: 1 }), { ...record, senderName: 2 }];
    expect(schemas.mismatches(payments.list, list, 500_000).map(({ field }) => field)).toEqual(["memo", "senderName"]);
  });

  it("find an unknown field in a large list when its records have it", async () => {
    const schemas = new Schemas(zod);
    const record = { ...recordOf(payments.list.record), colour: "x" };
    const list = Array(3000).fill(record);
    expect(schemas.mismatches(payments.list, list, JSON.stringify(list).length)).toMatchObject([{ field: "colour" }]);
  });
});

it("takes nothing that others have added to every object for a field of a record", async () => {
  const schemas = await new SchemaLoader().load();
  const record = recordOf(transfers.get.record);
  let found: string[][];
  const check = (value: object) => schemas.mismatches(transfers.get, value, 100).map(({ field }) => field);
  Object.defineProperty(Object.prototype, "polluted", { value: "y", enumerable: true, configurable: true });
  try {
    found = [record, { ...record, colour: "red" }, { ...record, amount: 5 }].map(check);
  } finally {
    Reflect.deleteProperty(Object.prototype, "polluted");
  }
  expect(found).toEqual([[], ["colour"], ["amount"]]);
});
