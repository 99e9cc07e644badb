import { CrossBorderClient } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { describe, expect, it, onTestFinished } from "vitest";
import { confirmOrder, orderTables, payConfirmed } from "../../examples/ledger-sql/orders.js";
import { PostgresLedger } from "../../examples/ledger-sql/postgres-ledger.js";
import { compareTakings } from "../../examples/ledger-sql/statement.js";
import { startPracticeService } from "../../examples/support/practice-service.js";
import { intentRequest as request } from "../support/corridor.js";
import { openSchema, skipped, url } from "./schema.js";

async function bank() {
  const { pool } = await openSchema();
  const practice = await startPracticeService();
  const client = new CrossBorderClient(practice.options);
  const { takeFunds, releaseFunds } = new PostgresLedger(pool);
  const journal = new MemoryJournal();
  const flow = new PaymentFlow({ client, journal, gatewayId: "alpha-bank", takeFunds, releaseFunds });
  onTestFinished(async () => {
    await flow.close();
    await client.close();
    await practice.server.close();
  });
  await pool.query(orderTables);
  await pool.query("insert into accounts values ('DE-0001', 'EUR', 1000)");
  await pool.query("insert into orders (id) values ('order-1')");
  return {
    pool,
    flow,
    client,
    /** Confirms the order with a new quote, and returns whether that was done. */
    confirm: async () => confirmOrder(pool, "order-1", (await flow.quote("order-1", request)).intent.id),
    /** The order's status, and how many payments and takings there are. */
    async state() {
      const { rows } = await pool.query<{ status: string }>("select status from orders where id = 'order-1'");
      const takings = await pool.query("select from takings");
      return [rows[0]?.status, practice.server.sandbox.payments.length, takings.rowCount];
    },
  };
}

describe.skipIf(url === "")(`an order and its flow${skipped}`, () => {
  it("is paid, however many orders before it are held", async () => {
    const { pool, flow, confirm, state } = await bank();
    await pool.query(
      "insert into orders (id, intent_id, status) select 'held-' || n, 'intent', 'held' from generate_series(1, 250) as n",
    );
    await confirm();
    let asked = 0;
    const holding: Pick<PaymentFlow, "confirm"> = {
      async confirm(key, options) {
        asked += 1;
        if (key !== "order-1") throw new Error("it is still held");
        return flow.confirm(key, options);
      },
    };
    await expect(payConfirmed(pool, holding)).rejects.toMatchObject({ errors: { length: 250 } });
    expect([asked, await state()]).toEqual([251, ["paid", 1, 1]]);
  });

  it("is paid once if the process died before it stored the outcome", async () => {
    const { pool, flow, confirm, state } = await bank();
    await confirm();
    const dying: Pick<PaymentFlow, "confirm"> = {
      async confirm(...call) {
        await flow.confirm(...call);
        throw new Error("the process died");
      },
    };
    await expect(payConfirmed(pool, dying)).rejects.toMatchObject({ errors: [new Error("the process died")] });
    expect(await state()).toEqual(["confirmed", 1, 1]);
    await payConfirmed(pool, flow);
    expect(await state()).toEqual(["paid", 1, 1]);
  });

  it("is in the statement if its taking and its payment differ, and not otherwise", async () => {
    const { pool, flow, client } = await bank();
    const from = new Date(Date.now() - 60_000);
    expect(await flow.run("order-1", request)).toMatchObject({ status: "paid" });
    const compare = async () => {
      const found: string[] = [];
      for await (const { type } of compareTakings(client, pool, "alpha-bank", from, new Date())) found.push(type);
      return found.sort();
    };
    expect(await compare()).toEqual([]);
    await pool.query("update takings set amount = amount + 1");
    expect(await compare()).toEqual(["different"]);
    await pool.query("update takings set transaction_id = 'TX-of-nobody'");
    expect(await compare()).toEqual(["missing-here", "missing-there"]);
  });
});
