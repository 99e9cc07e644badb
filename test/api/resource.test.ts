import { expect, it } from "vitest";
import { resource } from "../../src/api/resource.js";

interface Refund {
  id: string;
  createdAt: string;
  amount: string;
  payerAccount: string;
  note: string;
  attempts: number;
  details: unknown;
}

interface RefundFields {
  amount?: string;
  note?: string;
  payerAccount?: string;
}

const fields = {
  id: "text",
  createdAt: "timestamp",
  amount: "decimal",
  payerAccount: "account",
  note: "text",
  attempts: "integer",
  details: "any",
} as const;

const refunds = resource<Refund, RefundFields>()("payments.refunds", "/payments/{paymentId}/refunds", {
  fields,
  create: {
    body: ["payerAccount", "amount"],
    required: ["amount"],
    signed: true,
    signer: "payerAccount",
    identifiedBy: "payerAccount",
  },
  get: true,
  list: true,
  update: { body: ["note"], signed: false, signer: "note" },
});

it("names each row as its path in code, and has one for each verb of the description", () => {
  const names = Object.fromEntries(Object.entries(refunds).map(([verb, row]) => [verb, [row.name, row.verb]]));
  expect(names).toEqual({
    create: ["payments.refunds.create", "create"],
    get: ["payments.refunds.get", "get"],
    list: ["payments.refunds.list", "list"],
    update: ["payments.refunds.update", "update"],
  });
});

it("has no row for a verb that the description leaves out", () => {
  const readOnly = resource<Refund>()("refunds", "/refunds", { fields, get: true });
  expect(Object.keys(readOnly)).toEqual(["get"]);
});

it("derives the method and the path: one id more for a single record, named after the resource", () => {
  const addresses = Object.values(refunds).map(({ verb, method, path }) => [verb, method, path.text, path.parameters]);
  expect(addresses).toEqual([
    ["create", "POST", "/payments/{paymentId}/refunds", ["paymentId"]],
    ["list", "GET", "/payments/{paymentId}/refunds", ["paymentId"]],
    ["get", "GET", "/payments/{paymentId}/refunds/{refundId}", ["paymentId", "refundId"]],
    ["update", "PUT", "/payments/{paymentId}/refunds/{refundId}", ["paymentId", "refundId"]],
  ]);
  const { get } = resource<Refund>()("refunds", "/refunds", { fields, get: true });
  expect(get.path.text).toBe("/refunds/{refundId}");
});

it("gives every row the record's fields", () => {
  for (const { record } of Object.values(refunds)) expect(record).toBe(fields);
});

it("gives a body the fields that it names, in that order and with the kinds of the record", () => {
  expect(Object.entries(refunds.create.body?.fields ?? {})).toEqual([
    ["payerAccount", "account"],
    ["amount", "decimal"],
  ]);
  expect(refunds.create.body?.required).toEqual(["amount"]);
  expect(refunds.update.body).toEqual({ fields: { note: "text" }, required: [] });
  expect([refunds.get.body, refunds.list.body]).toEqual([undefined, undefined]);
});

it("signs what the description signs, and nothing else", () => {
  const signed = Object.values(refunds).map(({ verb, signed, signer }) => [verb, signed, signer]);
  expect(signed).toEqual([
    ["create", true, "payerAccount"],
    ["list", false, undefined],
    ["get", false, undefined],
    // Not signed by itself; `signer` says whose key it is where the client's options name the operation.
    ["update", false, "note"],
  ]);
});

it("filters lists and single reads by every field; one of any content is sent as text", () => {
  const every = { ...fields, details: "text" };
  expect([refunds.list.query, refunds.get.query]).toEqual([every, every]);
  expect([refunds.create.query, refunds.update.query]).toEqual([undefined, undefined]);
});

it("leaves out the filters that are excepted", () => {
  const { list, get } = resource<Refund>()("refunds", "/refunds", {
    fields,
    filters: { except: ["id", "details"] },
    get: true,
    list: true,
  });
  const { id: _, details: __, ...rest } = fields;
  expect([list.query, get.query]).toEqual([rest, rest]);
});

it("leaves the filters of a list open where the description does not show them, and not the query of a single read", () => {
  const { list, get } = resource<Refund>()("refunds", "/refunds", { fields, filters: "open", get: true, list: true });
  expect(list.query).toBe("open");
  expect(get.query).toEqual({ ...fields, details: "text" });
});
