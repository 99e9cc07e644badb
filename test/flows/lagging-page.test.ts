import { expect, it } from "vitest";
import { flowFixture, isList, isPayment, request } from "./flow-fixture.js";

type Listed = readonly { readonly id: string }[];

it("gives nothing back where the first page of the look lags behind, and another response shows the payment", async () => {
  let isArmed = false;
  let before: ReadonlySet<string> | undefined;
  const { flow, sandbox, bank } = await flowFixture({
    onRequest: (seen) => {
      if (isArmed && isPayment(seen)) before = new Set(sandbox.payments.map(({ id }) => id));
      return undefined;
    },
    onResponse: async (seen, response) => {
      // A proxy sent the request twice, and the service refuses the second one.
      if (isArmed && isPayment(seen)) return Response.json({ error: "duplicate", message: "no" }, { status: 400 });
      if (!isList(seen) || before === undefined) return undefined;
      const known = before;
      before = undefined;
      const listed = (await response.json()) as Listed;
      return Response.json(listed.filter(({ id }) => known.has(id)));
    },
  });
  for (let number = 1; number <= 20; number++) await flow().run(`earlier-${number}`, request);
  isArmed = true;
  expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  expect([sandbox.payments.length, bank.released]).toEqual([21, []]);
});
