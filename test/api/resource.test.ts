import { expect, it } from "vitest";
import { resource } from "../../src/api/resource.js";

interface Refund {
  id: string;
  amount: string;
  note: string;
  details: unknown;
}

const fields = { id: "text", amount: "decimal", note: "text", details: "any" } as const;
const path = "/payments/{paymentId}/refunds";

it("derives names, methods, paths, bodies, and filters of the verbs that are described, and no other", () => {
  const rows = resource<Refund>()("payments.refunds", path, {
    fields,
    create: { body: ["note", "amount"], required: ["amount"], signed: true, signer: "note", identifiedBy: "note" },
    get: true,
    list: true,
    update: { body: ["note"], signer: "note" },
  });
  const shown = Object.values(rows).map(({ path: { text }, record, ...row }) => {
    expect(record).toBe(fields);
    return { ...row, path: text };
  });
  // A query carries texts.
  const query = { ...fields, details: "text" };
  const body = { fields: { note: "text", amount: "decimal" }, required: ["amount"] };
  const signer = "note";
  expect(shown).toEqual([
    {
      ...{ name: "payments.refunds.create", verb: "create", method: "POST", path, body },
      ...{ signed: true, signer, identifiedBy: "note" },
    },
    { name: "payments.refunds.list", verb: "list", method: "GET", path, query, signed: false },
    { name: "payments.refunds.get", verb: "get", method: "GET", path: `${path}/{refundId}`, query, signed: false },
    {
      ...{ name: "payments.refunds.update", verb: "update", method: "PUT", path: `${path}/{refundId}` },
      ...{ body: { fields: { note: "text" }, required: [] }, signed: false, signer },
    },
  ]);
});

it("leaves out filters that are excepted, and leaves those of a list open if the description doesn't show them", () => {
  const excepting = { fields, filters: { except: ["id", "details"] }, get: true, list: true } as const;
  const some = resource<Refund>()("refunds", "/refunds", excepting);
  const shown = { amount: "decimal", note: "text" };
  expect([some.list.query, some.get.query]).toEqual([shown, shown]);
  const open = resource<Refund>()("refunds", "/refunds", { fields, filters: "open", get: true, list: true });
  expect([open.list.query, open.get.query]).toEqual(["open", { ...fields, details: "text" }]);
});
