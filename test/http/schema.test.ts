import { createRequire } from "node:module";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as bundled from "../../src/http/compiled-schemas.js";
import * as installed from "../../src/http/installed-schemas.js";
import * as web from "../../src/http/plain-schemas.js";
import { SchemaLoader, Schemas } from "../../src/http/schema.js";
import { operations } from "../../src/resources/catalogue.js";
import { payments } from "../../src/resources/payments.js";
import { transfers } from "../../src/resources/transfers.js";
import { withdrawals } from "../../src/resources/withdrawals.js";
import { recordOf } from "./scripted-transport.js";

const compiled = bundled.loadZod();
const plain = web.loadZod();

it("says so where what reads records can't be loaded, and tries again with the next call", async () => {
  vi.resetModules();
  onTestFinished(() => {
    vi.doUnmock("#schemas");
    vi.resetModules();
  });
  vi.doMock("#schemas", () => {
    throw new Error("too many open files");
  });
  const { SchemaLoader } = await import("../../src/http/schema.js");
  const schemas = new SchemaLoader();
  await expect(schemas.load()).rejects.toMatchObject({
    name: "ConfigError",
    effect: "none",
    message: expect.stringContaining("what reads records can't be loaded, so nothing was sent"),
  });
  vi.doUnmock("#schemas");
  const [one, other] = await Promise.all([schemas.load(), schemas.load()]);
  expect(one).toBe(schemas.loaded);
  expect(other).toBe(one);
});

it("makes schemas on first use and once, however many calls there are", () => {
  let made = 0;
  const compile: typeof compiled.compile = (...given) => {
    made += 1;
    return compiled.compile(...given);
  };
  const schemas = new Schemas({ ...compiled, compile });
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

it("says so where the zod that is installed has not all that is needed: CommonJS takes that for undefined, without a word", async () => {
  vi.resetModules();
  onTestFinished(() => {
    vi.doUnmock("#schemas");
    vi.resetModules();
  });
  vi.doMock("#schemas", () => ({ loadZod: () => ({ ...compiled, compile: undefined }) }));
  const { SchemaLoader } = await import("../../src/http/schema.js");
  const loader = new SchemaLoader();
  await expect(loader.load()).rejects.toMatchObject({
    message: expect.stringContaining("what reads records can't be loaded, so nothing was sent"),
    cause: { message: expect.stringContaining("zod has no compile") },
  });
  expect(loader.loaded).toBeUndefined();
});

it("says before anything is sent that zod does not work, each time, and asks nothing of it for what has no records to read", () => {
  const validate = () => {
    throw new TypeError("not a function");
  };
  const schemas = new Schemas({ ...compiled, validate } as never);
  for (const row of operations.values()) {
    for (let times = 0; times < 2; times++) {
      if (row.verb === "update") expect(() => schemas.prepare(row)).not.toThrow();
      else expect(() => schemas.prepare(row)).toThrow(/not a function\), so nothing was sent.*validation: "off"/);
    }
  }
});

it("has zod compile every schema on Node: it would interpret one that it can't compile, which takes longer", () => {
  const compile: typeof compiled.compile = (schema) => compiled.compile(schema, { strict: true });
  const schemas = new Schemas({ ...compiled, compile });
  for (const row of operations.values()) {
    expect(() => schemas.mismatches(row, {})).not.toThrow();
    expect(() => schemas.mismatches(row, recordOf(row.record))).not.toThrow();
  }
});

it("takes the same of zod for Node, for bundles and for the web", async () => {
  const names = Object.keys(compiled).sort();
  expect(Object.keys(await installed.loadZod()).sort()).toEqual(names);
  expect(Object.keys(plain).sort()).toEqual(names);
});

describe("zod as it is installed", () => {
  const require = createRequire(import.meta.url);

  const here = import.meta.url;
  const modules = process.features.require_module ? "js" : "cjs";

  it.each([
    ["an ES module", here, modules],
    ["CommonJS", here.replace(/ts$/, "cjs"), "cjs"],
  ])("is loaded by its own files alone into %s", async (_what, file, ending) => {
    const functions: Record<string, () => void> = {};
    const loaded: string[] = [];
    const load: installed.Load = (path) => {
      loaded.push(path.replace(/^.*\/(?=zod\/)/, ""));
      const own = Object.keys(require(path)).map((name) => [name, () => {}] as const);
      Object.assign(functions, Object.fromEntries(own));
      return Object.fromEntries(own);
    };
    const zod = await installed.loadZod(file, Object.assign(load, { resolve: require.resolve }));
    const { $ZodObject, ...others } = zod;
    expect($ZodObject).toBe(functions.$ZodObjectJIT);
    expect(Object.keys(zod).sort()).toEqual(Object.keys(compiled).sort());
    for (const [name, part] of Object.entries(others)) expect(part).toBe(functions[name]);
    expect(loaded).toEqual(["checks", "compile", "parse", "schemas"].map((name) => `zod/v4/core/${name}.${ending}`));
  });

  it.runIf(process.features.require_module)("is what the program uses of it, too", async () => {
    expect(await installed.loadZod()).toEqual(compiled);
  });

  it.each<[string, installed.Load, (name: string) => string]>([
    ["can't be found", require, () => fail("Cannot find module")],
    ["has no such files", () => fail("Cannot find module"), require.resolve],
    ["has other things in them", () => ({}), require.resolve],
    ["has names of them that are no functions", (name) => ({ ...require(name), validate: 7 }), require.resolve],
  ])("is loaded by its entry where it %s", async (_where, load, resolve) => {
    const given = (name: string) => load(name);
    expect(await installed.loadZod(here, Object.assign(given, { resolve }))).toEqual(compiled);
  });

  it("is loaded by its entry where the file is none, as in a bundle of some makers", async () => {
    expect(await installed.loadZod("about:blank")).toEqual(compiled);
  });

  function fail(message: string): never {
    throw new Error(message);
  }
});

describe.each([
  ["Node", compiled],
  ["the web", plain],
] as const)("the schemas for %s", (_platform, zod) => {
  it.each([...operations.values()])("find nothing in a record as described: $name", async (row) => {
    const schemas = new Schemas(zod);
    const record = recordOf(row.record);
    const response = row.verb === "list" ? [record, { ...record }] : record;
    expect(schemas.mismatches(row, response)).toEqual([]);
  });

  it("tell that a field is missing", async () => {
    const schemas = new Schemas(zod);
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
    const schemas = new Schemas(zod);
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
    const schemas = new Schemas(zod);
    const record = { ...recordOf(payments.list.record), "no such account": 1, "nor this one": null };
    expect(schemas.mismatches(payments.create, record)).toMatchObject([{ field: "(unprintable)", found: "a number" }]);
  });

  it.each(["2026-01-01T00:00:00.000001Z", "2026-12-31T23:59:60Z", "2026-01-01T00:00:00.123456789Z"])(
    "take %s for a timestamp",
    async (createdAt) => {
      const schemas = new Schemas(zod);
      expect(schemas.mismatches(payments.create, { ...recordOf(payments.create.record), createdAt })).toEqual([]);
    },
  );

  it("tell an unknown field beside a missing one", async () => {
    const schemas = new Schemas(zod);
    const { memo: _, ...record } = recordOf(payments.create.record);
    const found = schemas.mismatches(payments.create, { ...record, note: "x" });
    expect(found.map(({ field }) => field)).toEqual(["memo", "note"]);
  });

  it("let the status of a withdrawal and the ends of a transfer be anything, as the description does", async () => {
    const schemas = new Schemas(zod);
    const withdrawal = { ...recordOf(withdrawals.get.record), status: "new to us" };
    expect(schemas.mismatches(withdrawals.get, withdrawal)).toEqual([]);
    expect(schemas.mismatches(transfers.get, { ...recordOf(transfers.get.record), from: "bank" })).toEqual([]);
  });

  it("look for 20 differences and no more", async () => {
    const schemas = new Schemas(zod);
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
    const schemas = new Schemas(zod);
    const record = recordOf(payments.list.record);
    const list = [...Array(500).fill({ ...record, memo: 1 }), { ...record, senderName: 2 }];
    expect(schemas.mismatches(payments.list, list).map(({ field }) => field)).toEqual(["memo", "senderName"]);
  });

  it("look at 1,000 records that differ and no more, and at any number of others", () => {
    const schemas = new Schemas(zod);
    const record = recordOf(payments.list.record);
    const [one, other] = [
      { ...record, memo: 1 },
      { ...record, senderName: 2 },
    ];
    const differing = (before: number) =>
      schemas.mismatches(payments.list, [...Array(before).fill(one), other]).map(({ field }) => field);
    expect(differing(999)).toEqual(["memo", "senderName"]);
    expect(differing(1000)).toEqual(["memo"]);
    expect(schemas.mismatches(payments.list, [...Array(1500).fill(record), one])).toHaveLength(1);
  });

  it("read no more of a list once there are 20 differences", () => {
    const schemas = new Schemas(zod);
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
      expect(new Schemas(zod).mismatches(payments.list, list).map(({ field }) => field)).toEqual(["memo", "colour"]);
    }
  });

  it("look for no unknown fields in records of more than 64 KiB", () => {
    const list = [{ ...recordOf(payments.list.record), colour: "x" }];
    const found = [2 ** 16, 2 ** 16 + 1].map((length) => new Schemas(zod).mismatches(payments.list, list, length));
    expect(found.map(({ length }) => length)).toEqual([1, 0]);
  });
});

it("takes nothing that others have added to every object for a field of a record", async () => {
  const schemas = await new SchemaLoader().load();
  const record = recordOf(transfers.get.record);
  let found: string[][];
  const check = (value: object) => schemas.mismatches(transfers.get, value).map(({ field }) => field);
  Object.defineProperty(Object.prototype, "polluted", { value: "y", enumerable: true, configurable: true });
  try {
    found = [record, { ...record, colour: "red" }, { ...record, amount: 5 }].map(check);
  } finally {
    Reflect.deleteProperty(Object.prototype, "polluted");
  }
  expect(found).toEqual([[], ["colour"], ["amount"]]);
});

it("reports each field that is not described, however many another record of the list had", () => {
  const schemas = new Schemas(compiled);
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
