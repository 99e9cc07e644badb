import { randomBytes } from "node:crypto";
import { CrossBorderClient } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { confirmOrder, orderTables, payConfirmed } from "../../examples/ledger-sql/orders.js";
import { PostgresLedger, postgresTables } from "../../examples/ledger-sql/postgres-ledger.js";
import { compareTakings } from "../../examples/ledger-sql/statement.js";
import { startPracticeService } from "../../examples/support/practice-service.js";
import { intentRequest as request } from "../support/corridor.js";

const url = process.env.CBP_POSTGRES_URL ?? "";
const skipped = url === "" ? " (skipped: CBP_POSTGRES_URL is not set)" : "";

async function bank() {
  const schema = `orders_${randomBytes(6).toString("hex")}`;
  const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` });
  const practice = await startPracticeService();
  const client = new CrossBorderClient(practice.options);
  const ledger = new PostgresLedger(pool);
  const { takeFunds, releaseFunds } = ledger;
  const flow = new PaymentFlow({
    client,
    journal: new MemoryJournal(),
    gatewayId: "alpha-bank",
    takeFunds,
    releaseFunds,
  });
  onTestFinished(async () => {
    await flow.close();
    await client.close();
    await practice.server.close();
    await pool.query(`drop schema ${schema} cascade`);
    await pool.end();
  });
  await pool.query(`create schema ${schema}`);
  await pool.query(postgresTables);
  await pool.query(orderTables);
  await pool.query("insert into accounts values ('DE-0001', 'EUR', 1000)");
  await pool.query("insert into orders (id) values ('order-1')");
  return {
    pool,
    flow,
    client,
    payments: () => practice.server.sandbox.payments.length,
    status: async () => (await pool.query<{ status: string }>("select status from orders")).rows[0]?.status,
    takings: async () => (await pool.query("select from takings")).rowCount,
  };
}

describe.skipIf(url === "")(`an order and its flow${skipped}`, () => {
  it("is paid by a later round where the process died right after the order was confirmed", async () => {
    const { pool, flow, payments, status } = await bank();
    const { intent } = await flow.quote("order-1", request);
    expect(await confirmOrder(pool, "order-1", intent.id)).toBe(true);
    expect([await status(), payments()]).toEqual(["confirmed", 0]);
    await payConfirmed(pool, flow);
    expect([await status(), payments()]).toEqual(["paid", 1]);
    expect(await confirmOrder(pool, "order-1", intent.id)).toBe(false);
  });

  it("is paid however many orders before it are held", async () => {
    const { pool, flow, payments } = await bank();
    await pool.query(
      "insert into orders (id, intent_id, status) select 'held-' || n, 'intent', 'held' from generate_series(1, 250) as n",
    );
    const { intent } = await flow.quote("order-1", request);
    await confirmOrder(pool, "order-1", intent.id);
    const asked: string[] = [];
    const confirm: PaymentFlow["confirm"] = async (key, options) => {
      asked.push(key);
      if (key !== "order-1") throw new Error("it is still held");
      return flow.confirm(key, options);
    };
    await expect(payConfirmed(pool, { confirm })).rejects.toMatchObject({ errors: { length: 250 } });
    expect(asked).toHaveLength(251);
    expect(payments()).toBe(1);
  });

  it("is paid once where the process died before it stored the outcome", async () => {
    const { pool, flow, payments, status, takings } = await bank();
    const { intent } = await flow.quote("order-1", request);
    await confirmOrder(pool, "order-1", intent.id);
    const dies: Pick<PaymentFlow, "confirm"> = {
      async confirm(...call) {
        await flow.confirm(...call);
        throw new Error("the process died");
      },
    };
    await expect(payConfirmed(pool, dies)).rejects.toMatchObject({ errors: [new Error("the process died")] });
    expect([await status(), payments()]).toEqual(["confirmed", 1]);
    await payConfirmed(pool, flow);
    expect([await status(), payments(), await takings()]).toEqual(["paid", 1, 1]);
  });

  it("is paid once by processes that go through the orders at the same time", async () => {
    const { pool, flow, payments, status, takings } = await bank();
    const { intent } = await flow.quote("order-1", request);
    await confirmOrder(pool, "order-1", intent.id);
    await Promise.all([1, 2, 3, 4].map(() => payConfirmed(pool, flow)));
    expect([await status(), payments(), await takings()]).toEqual(["paid", 1, 1]);
  });

  it("keeps no other order from being paid where it fails", async () => {
    const { pool, flow, payments } = await bank();
    await pool.query("insert into orders (id) values ('order-0')");
    const { intent } = await flow.quote("order-1", request);
    await confirmOrder(pool, "order-0", "an intent");
    await confirmOrder(pool, "order-1", intent.id);
    const failing: Pick<PaymentFlow, "confirm"> = {
      confirm: (key, ...rest) => (key === "order-0" ? Promise.reject(new Error("broken")) : flow.confirm(key, ...rest)),
    };
    await expect(payConfirmed(pool, failing)).rejects.toMatchObject({ errors: [new Error("broken")] });
    expect(payments()).toBe(1);
  });

  it("asks the customer again where the quote was lost, and takes nothing", async () => {
    const { pool, flow, payments, status, takings } = await bank();
    await confirmOrder(pool, "order-1", "an intent of a pruned flow");
    await payConfirmed(pool, flow);
    expect([await status(), payments(), await takings()]).toEqual(["quote_lost", 0, 0]);
    const { intent } = await flow.quote("order-1", request);
    expect(await confirmOrder(pool, "order-1", intent.id)).toBe(true);
    await payConfirmed(pool, flow);
    expect([await status(), payments()]).toEqual(["paid", 1]);
  });

  it("is in the statement where its taking and its payment differ, and not otherwise", async () => {
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
