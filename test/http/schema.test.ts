import { describe, expect, it, vi } from "vitest";
import { Schemas } from "../../src/http/read.js";
import { operations } from "../../src/resources/catalogue.js";
import { payments } from "../../src/resources/payments.js";
import { transfers } from "../../src/resources/transfers.js";
import { withdrawals } from "../../src/resources/withdrawals.js";
import { recordOf } from "./scripted-transport.js";

const compile = vi.hoisted(() => ({ calls: 0 }));

vi.mock(import("../../src/core/zod.js"), async (original) => {
  const real = await original();
  const counted: typeof real.compile = (schema) => {
    compile.calls += 1;
    return real.compile(schema, { strict: true });
  };
  return { ...real, compile: counted };
});

async function loaded(compiles: boolean): Promise<Schemas> {
  const schemas = Object.assign(new Schemas(), { compiles });
  await schemas.load();
  return schemas;
}

const record = recordOf(payments.list.record);

it.each([true, false])("makes each schema once, and compiles it on Node only: %s", async (compiles) => {
  compile.calls = 0;
  const schemas = await loaded(compiles);
  const made = [1, 2].map(() => {
    for (const row of operations.values()) schemas.mismatches(row, {});
    return compile.calls;
  });
  expect(made[1]).toBe(made[0]);
  expect(compile.calls > 0).toBe(compiles);
});

describe.each([
  ["compiled", true],
  ["interpreted", false],
] as const)("%s schemas", (_, compiles) => {
  it("find nothing in a record as described, of any operation", async () => {
    const schemas = await loaded(compiles);
    for (const row of operations.values()) {
      const described = recordOf(row.record);
      if ("createdAt" in described) described.createdAt = "2026-12-31T23:59:59Z";
      if ("updatedAt" in described) described.updatedAt = "2026-12-31T23:59:59.123456789+00:00";
      expect(schemas.mismatches(row, row.verb === "list" ? [described, { ...described }] : described)).toEqual([]);
    }
  });

  it.each<[string, object, object]>([
    [
      "an unknown field",
      { colour: "x" },
      { field: "colour", expected: "a field of the description", found: "a string" },
    ],
    ["an unknown field that holds nothing", { colour: null }, { field: "colour", found: "null" }],
    [
      "a field whose name may be anything",
      { DE89370400440532013000: 1, "no such account": 1 },
      { field: "(unprintable)", found: "a number" },
    ],
    ["a field called __proto__", JSON.parse('{"__proto__":1}'), { field: "__proto__", found: "a number" }],
    [
      "a status of another kind",
      { senderGatewayStatus: "settled" },
      { field: "senderGatewayStatus", expected: "pending, processed, error or reverted", found: "a string" },
    ],
    ["a status in capitals", { receiverGatewayStatus: "PENDING" }, { field: "receiverGatewayStatus" }],
    [
      "a timestamp that is none",
      { createdAt: "yesterday" },
      { field: "createdAt", expected: "an ISO 8601 timestamp in UTC", found: "a string" },
    ],
    ["a timestamp of another zone", { updatedAt: "2026-01-01T00:00:00.000001+02:00" }, { field: "updatedAt" }],
    ["a day that there is not", { createdAt: "2026-13-41T00:00:00Z" }, { field: "createdAt" }],
    ["a timestamp that is empty", { updatedAt: "" }, { field: "updatedAt", found: "an empty string" }],
    ["null", { memo: null }, { field: "memo", expected: "a string", found: "null" }],
    ["an amount with a comma", { senderAmount: "1,5" }, { field: "senderAmount", found: "a string" }],
  ])("tell %s, in a record and in a list", async (_, different, mismatch) => {
    const schemas = await loaded(compiles);
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

  it("tell missing fields, and unknown ones beside them, wherever they are in a list", async () => {
    const schemas = await loaded(compiles);
    const { memo: _, extras: __, ...less } = record;
    const list = [...Array(500).fill(record), { ...record, memo: 1 }, { ...less, note: "x", senderName: 2 }];
    expect(schemas.mismatches(payments.list, list)).toEqual([
      { field: "memo", expected: "a string", found: "a number" },
      { field: "senderName", expected: "a string", found: "a number" },
      { field: "extras", expected: "any value, null included", found: "undefined" },
      { field: "note", expected: "a field of the description", found: "a string" },
    ]);
  });

  it("let the status of a withdrawal and the ends of a transfer be anything, as the description does", async () => {
    const schemas = await loaded(compiles);
    const withdrawal = { ...recordOf(withdrawals.get.record), status: "new to us" };
    expect(schemas.mismatches(withdrawals.get, withdrawal)).toEqual([]);
    expect(schemas.mismatches(transfers.get, { ...recordOf(transfers.get.record), from: "bank" })).toEqual([]);
  });

  it("find what differs in a list of records with the same unknown field", async () => {
    const schemas = await loaded(compiles);
    const more = { ...record, colour: "x" };
    const list = [more, more, { ...more, memo: 1 }, record, { ...record, size: 1 }, more];
    expect(schemas.mismatches(payments.list, list).map(({ field }) => field)).toEqual(["colour", "memo", "size"]);
  });

  it("tell at most 20 differences, of any record", async () => {
    const schemas = await loaded(compiles);
    const names = [..."abcdefghijklmnopqrstuvwxyz"].map((letter) => `field_${letter}`);
    const unknown = Object.fromEntries(names.map((name) => [name, 1]));
    expect(schemas.mismatches(payments.list, [{}])).toHaveLength(20);
    expect(schemas.mismatches(payments.list, [{ ...record, ...unknown }])).toHaveLength(20);
    const list = [...Array(20).fill({ ...record, memo: 1 }), { ...record, ...unknown }];
    expect(schemas.mismatches(payments.list, list)).toHaveLength(20);
  });
});
