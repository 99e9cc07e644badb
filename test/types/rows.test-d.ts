import type { CrossBorderClient, OperationName } from "cross-border-payments";
import { describe, expectTypeOf, it } from "vitest";
import type { ApiClient } from "../../src/api/api-client.js";
import type { TypedOperation } from "../../src/api/operation.js";
import { resource } from "../../src/api/resource.js";
import { deposits } from "../../src/resources/deposits.js";
import { payments } from "../../src/resources/payments.js";

interface Refund {
  id: string;
  amount: string;
  attempts: number;
  details: unknown;
}

interface RefundFields {
  amount?: string;
}

const fields = { id: "text", amount: "decimal", attempts: "integer", details: "any" } as const;
const make = resource<Refund, RefundFields>();

describe("the description of a resource", () => {
  it("gives rows with the types of their names, ids, bodies and records", () => {
    const refunds = make("refunds", "/payments/{paymentId}/refunds", {
      fields,
      create: { body: ["amount"], signed: true, signer: "amount", identifiedBy: "amount" },
      list: true,
      get: true,
      update: { body: ["amount"] },
    });
    expectTypeOf(refunds).toEqualTypeOf<{
      readonly create: TypedOperation<"refunds.create", readonly [string], RefundFields, Refund>;
      readonly list: TypedOperation<"refunds.list", readonly [string], never, Refund[]>;
      readonly get: TypedOperation<"refunds.get", readonly [string, string], never, Refund>;
      readonly update: TypedOperation<"refunds.update", readonly [string, string], RefundFields, void>;
    }>();
  });

  it("has no row for a verb that is left out", () => {
    const refunds = make("refunds", "/refunds", { fields, get: true });
    // @ts-expect-error there is no list
    refunds.list;
  });

  it("has a table of all fields, each of a kind that its type may have", () => {
    const { id: _, ...missing } = fields;
    // @ts-expect-error `id` is missing in the table
    make("refunds", "/refunds", { fields: missing, get: true });
    // @ts-expect-error a string is no integer
    make("refunds", "/refunds", { fields: { ...fields, amount: "integer" }, get: true });
    // @ts-expect-error a number is no text
    make("refunds", "/refunds", { fields: { ...fields, attempts: "text" }, get: true });
    // @ts-expect-error what is unknown is of any kind, not a text
    make("refunds", "/refunds", { fields: { ...fields, details: "text" }, get: true });
    // @ts-expect-error there is no kind `money`
    make("refunds", "/refunds", { fields: { ...fields, amount: "money" }, get: true });
  });

  it("names fields of the body and of the record only", () => {
    // @ts-expect-error the body has no `attempts`
    make("refunds", "/refunds", { fields, create: { body: ["attempts"] } });
    // @ts-expect-error the body has no `attempts`
    make("refunds", "/refunds", { fields, update: { body: ["amount", "attempts"] } });
    // @ts-expect-error the body has no `attempts`
    make("refunds", "/refunds", { fields, create: { body: ["amount"], required: ["attempts"] } });
    // @ts-expect-error the record has no `colour`
    make("refunds", "/refunds", { fields, list: true, filters: { except: ["colour"] } });
  });

  it("has a path that begins with a slash", () => {
    // @ts-expect-error there is no slash at the start
    make("refunds", "refunds", { fields, get: true });
  });
});

describe("a call", () => {
  const call = (client: ApiClient) => {
    expectTypeOf(client.call(deposits.get, ["lp", "d"])).resolves.toHaveProperty("amount");
    expectTypeOf(client.call(deposits.list, ["lp"])).resolves.toBeArray();
    expectTypeOf(client.call(deposits.update, ["lp", "d"], { body: {} })).resolves.toEqualTypeOf<void>();
    // @ts-expect-error the deposit's own id is missing
    client.call(deposits.get, ["lp"]);
    // @ts-expect-error a list takes the provider's id only
    client.call(deposits.list, ["lp", "d"]);
    // @ts-expect-error `payments.create` takes no id
    client.call(payments.create, ["p"]);
    // @ts-expect-error a deposit has no `colour`
    client.call(deposits.create, ["lp"], { body: { colour: "red" } });
    // @ts-expect-error a read has no body
    client.call(deposits.get, ["lp", "d"], { body: { amount: "1" } });
    // @ts-expect-error the same for a call that is signed first
    client.sign(payments.create, ["p"], { body: { memo: "rent" } });
    // @ts-expect-error the same for a check
    client.check(deposits.create, ["lp"], { body: { colour: "red" } });
  };

  it("takes the ids and the body of its row, neither more nor less", () => {
    expectTypeOf(call).toBeFunction();
  });
});

/** The method of an operation: of `liquidityProviders.deposits.get`, that of `client.liquidityProviders.deposits(id)`. */
type MethodOf<Owner, Name> = Name extends `${infer First}.${infer Rest}`
  ? MethodOf<Bound<Owner[First & keyof Owner]>, Rest>
  : Owner[Name & keyof Owner];
type Bound<Collection> = Collection extends (id: string) => infer Result ? Result : Collection;
type QueryOf<Name> =
  MethodOf<CrossBorderClient, Name> extends (id: string, options?: infer Options) => unknown
    ? "query" & keyof NonNullable<Options>
    : never;
type SingleRead = Extract<OperationName, `${string}.get`>;

describe("the query option", () => {
  it("is taken by all single reads", () => {
    expectTypeOf<{ [Name in SingleRead]: QueryOf<Name> }>().toEqualTypeOf<Record<SingleRead, "query">>();
  });
});
