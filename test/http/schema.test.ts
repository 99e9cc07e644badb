import { describe, expect, it } from "vitest";
import * as zod from "../../src/core/zod.js";
import { Schemas } from "../../src/http/schema.js";
import { operations } from "../../src/resources/catalogue.js";
import { payments } from "../../src/resources/payments.js";
import { transfers } from "../../src/resources/transfers.js";
import { withdrawals } from "../../src/resources/withdrawals.js";
import { recordOf } from "./scripted-transport.js";

it("makes schemas on first use and once, however many calls there are", () => {
  let made = 0;
  const compile: typeof zod.compile = (...given) => {
    made += 1;
    return zod.compile(...given);
  };
  const schemas = new Schemas({ ...zod, compile });
  const use = () => {
    for (const row of operations.values()) {
      schemas.mismatches(row, row.verb === "list" ? [{}] : recordOf(row.record));
    }
  };
  expect(made).toBe(0);
  use();
  const once = made;
  for (let index = 0; index < 50; index++) use();
  expect(once).toBeGreaterThan(0);
  expect(made).toBe(once);
});

it("has zod compile every schema on Node: it would interpret one that it can't compile, which takes longer", () => {
  const compile: typeof zod.compile = (schema) => zod.compile(schema, { strict: true });
  const schemas = new Schemas({ ...zod, compile });
  for (const row of operations.values()) {
    expect(() => schemas.mismatches(row, {})).not.toThrow();
    expect(() => schemas.mismatches(row, recordOf(row.record))).not.toThrow();
  }
});

it("never compiles on platforms that forbid code made from text", () => {
  const compile = () => expect.fail("compiled");
  const schemas = new Schemas({ ...zod, compile }, false);
  for (const row of operations.values()) expect(schemas.mismatches(row, recordOf(row.record))).toEqual([]);
});

describe.each([
  ["compiled", true],
  ["interpreted", false],
] as const)("%s schemas", (_, compiles) => {
  it.each([...operations.values()])("find nothing in a record as described: $name", async (row) => {
    const schemas = new Schemas(zod, compiles);
    const record = recordOf(row.record);
    const response = row.verb === "list" ? [record, { ...record }] : record;
    expect(schemas.mismatches(row, response)).toEqual([]);
  });

  it("tell that a field is missing", async () => {
    const schemas = new Schemas(zod, compiles);
    const { extras: _, ...record } = recordOf(payments.create.record);
    expect(schemas.mismatches(payments.create, record)).toEqual([
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
    ["a timestamp that is empty", { updatedAt: "" }, { field: "updatedAt", found: "an empty string" }],
    ["a timestamp that is a number", { createdAt: 1767225600 }, { field: "createdAt", found: "a number" }],
    ["null", { memo: null }, { field: "memo", expected: "a string", found: "null" }],
    ["an amount with a comma", { senderAmount: "1,5" }, { field: "senderAmount", found: "another string" }],
  ])("tell %s, in a record and in a list", async (_, different, mismatch) => {
    const schemas = new Schemas(zod, compiles);
    const record = recordOf(payments.list.record);
    const changed = Object.defineProperties({ ...record }, Object.getOwnPropertyDescriptors(different));
    for (const [row, value] of [
      [payments.create, changed],
      [payments.list, [record, record, changed, record]],
    ] as const) {
      const found = schemas.mismatches(row, value);
      expect(found).toEqual([expect.objectContaining(mismatch)]);
      expect(JSON.stringify(found)).not.toMatch(/DE89|yesterday|settled|no such/);
    }
  });

  it("tell the first of the fields whose names may be anything", () => {
    const schemas = new Schemas(zod, compiles);
    const record = { ...recordOf(payments.list.record), "no such account": 1, "nor this one": null };
    expect(schemas.mismatches(payments.create, record)).toMatchObject([{ field: "(unprintable)", found: "a number" }]);
  });

  it.each(["2026-01-01T00:00:00.000001Z", "2026-12-31T23:59:60Z", "2026-01-01T00:00:00.123456789Z"])(
    "take %s for a timestamp",
    async (createdAt) => {
      const schemas = new Schemas(zod, compiles);
      expect(schemas.mismatches(payments.create, { ...recordOf(payments.create.record), createdAt })).toEqual([]);
    },
  );

  it("tell an unknown field beside a missing one", async () => {
    const schemas = new Schemas(zod, compiles);
    const { memo: _, ...record } = recordOf(payments.create.record);
    const found = schemas.mismatches(payments.create, { ...record, note: "x" });
    expect(found.map(({ field }) => field)).toEqual(["memo", "note"]);
  });

  it("let the status of a withdrawal and the ends of a transfer be anything, as the description does", async () => {
    const schemas = new Schemas(zod, compiles);
    const withdrawal = { ...recordOf(withdrawals.get.record), status: "new to us" };
    expect(schemas.mismatches(withdrawals.get, withdrawal)).toEqual([]);
    expect(schemas.mismatches(transfers.get, { ...recordOf(transfers.get.record), from: "bank" })).toEqual([]);
  });

  it("look for 20 differences and no more", async () => {
    const schemas = new Schemas(zod, compiles);
    expect(schemas.mismatches(payments.list, Array(1000).fill({}))).toHaveLength(20);
    const unknown = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [
        `field${"abcdefghij"[index % 10]}${index % 100}x${"y".repeat(index / 20)}`,
        1,
      ]),
    );
    const record = { ...recordOf(payments.list.record), ...unknown };
    expect(schemas.mismatches(payments.list, [record])).toHaveLength(20);
  });

  it("find the second field that differs however often the first one does", async () => {
    const schemas = new Schemas(zod, compiles);
    const record = recordOf(payments.list.record);
    const list = [...Array(500).fill({ ...record, memo: 1 }), { ...record, senderName: 2 }];
    expect(schemas.mismatches(payments.list, list).map(({ field }) => field)).toEqual(["memo", "senderName"]);
  });

  it("read no more of a list once there are 20 differences", () => {
    const schemas = new Schemas(zod, compiles);
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(schemas.mismatches(payments.list, [{}, proxy])).toHaveLength(20);
  });

  it("look for each kind of difference in every record of a list", () => {
    const record = recordOf(payments.list.record);
    for (const at of [0, 1, 39]) {
      const list = Array.from({ length: 40 }, (_, index) =>
        index === at ? { ...record, memo: 1, colour: "x" } : record,
      );
      expect(new Schemas(zod, compiles).mismatches(payments.list, list).map(({ field }) => field)).toEqual([
        "memo",
        "colour",
      ]);
    }
  });
});

it("reports each field that is not described, however many another record of the list had", () => {
  const schemas = new Schemas(zod);
  const numbered = (prefix: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`${prefix}${"abcdefghijklmnopqrstuvwxyz"[index]}`, 1]),
    );
  const record = recordOf(payments.list.record);
  const first = { ...record, ...numbered("first", 19) };
  const second = { ...record, ...numbered("second", 3) };
  const names = (...items: object[]) => schemas.mismatches(payments.list, items).map(({ field }) => field);
  const reported = new Set([...names(first, second), ...names(second)]);
  expect([...reported].filter((name) => name.startsWith("second"))).toEqual(["seconda", "secondb", "secondc"]);
});
