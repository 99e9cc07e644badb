import type { PaymentIntent } from "cross-border-payments";
import { verifyFundsFunctions } from "cross-border-payments/testing";
import { describe, expect, it } from "vitest";
import { PostgresLedger } from "../../examples/ledger-sql/postgres-ledger.js";
import { SqliteLedger, toUnits } from "../../examples/ledger-sql/sqlite-ledger.js";
import { newFile, nodeSqlite, openHandle, withoutSqlite } from "../journals/sqlite-fixture.js";
import { openSchema, skipped, url } from "./schema.js";

async function postgresLedger() {
  const { pool, otherPool } = await openSchema();
  const { takeFunds, releaseFunds } = new PostgresLedger(pool);
  return {
    takeFunds,
    releaseFunds,
    /** The same, as another process has it. */
    takeElsewhere: new PostgresLedger(otherPool).takeFunds,
    async balance() {
      // As docs/ledger-in-sql.md has it.
      const { rows } = await pool.query<{ balance: string }>(
        "select trim_scale(balance) as balance from accounts where id = 'DE-0001'",
      );
      return rows[0]?.balance ?? "none";
    },
    async deposit(account: string, currency: string, amount: string) {
      await pool.query(
        `insert into accounts values ($1, $2, $3)
         on conflict (id) do update set balance = accounts.balance + excluded.balance`,
        [account, currency, amount],
      );
    },
    /** The account is gone, with what is on it. */
    async close(account: string) {
      await pool.query("delete from accounts where id = $1", [account]);
    },
    /** Lets the next transaction end right before it would commit, as if the process died or its connection broke. */
    dieBeforeCommit() {
      pool.once("acquire", (client) => {
        const query = client.query.bind(client);
        const breakConnection = async () => {
          const { rows } = await query("select pg_backend_pid() as pid");
          const ended = new Promise((resolve) => client.once("end", resolve));
          await otherPool.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
          await ended;
          return query("commit");
        };
        client.query = ((text: string, ...rest: unknown[]) =>
          text === "commit" ? breakConnection() : Reflect.apply(query, client, [text, ...rest])) as typeof client.query;
      });
    },
  };
}

async function sqliteLedger(): ReturnType<typeof postgresLedger> {
  const path = newFile();
  const database = openHandle(path);
  let dies = false;
  const { takeFunds, releaseFunds } = new SqliteLedger({
    prepare: (sql) => database.prepare(sql),
    exec(sql) {
      if (sql !== "commit" || !dies) return database.exec(sql);
      dies = false;
      throw new Error("the process died");
    },
  });
  return {
    takeFunds,
    releaseFunds,
    takeElsewhere: new SqliteLedger(openHandle(path)).takeFunds,
    async balance() {
      const [row] = database.prepare("select balance from accounts where id = 'DE-0001'").all();
      return String(Reflect.get(Object(row), "balance"));
    },
    async deposit(account, currency, amount) {
      database
        .prepare(
          "insert into accounts values (?, ?, ?) on conflict (id) do update set balance = balance + excluded.balance",
        )
        .run(account, currency, toUnits(amount));
    },
    async close(account) {
      database.prepare("delete from accounts where id = ?").run(account);
    },
    dieBeforeCommit() {
      dies = true;
    },
  };
}

const intent = intentOf("DE-0001", "100.28");

function intentOf(senderAccount: string, senderAmount: string): PaymentIntent {
  return { senderAccount, senderAmount, senderCurrency: "EUR" } as PaymentIntent;
}

const refusal = { code: "http_400", status: 400 };

describe.each([
  { name: `PostgreSQL${skipped}`, open: postgresLedger, runs: url !== "" },
  { name: `SQLite${withoutSqlite}`, open: sqliteLedger, runs: nodeSqlite !== undefined },
])("the ledger in $name", ({ open, runs }) => {
  /** A ledger with so much on the sender's account. */
  async function holding(amount: string) {
    const ledger = await open();
    await ledger.deposit("DE-0001", "EUR", amount);
    return { ledger, before: await ledger.balance() };
  }

  it.runIf(runs)("keeps what the flow needs of the two functions", async () => {
    const { ledger } = await holding("1000");
    const { takeFunds, releaseFunds, balance } = ledger;
    const declined = {
      intent: intentOf("DE-0002", "5.00"),
      accept: () => ledger.deposit("DE-0002", "EUR", "50.00"),
    };
    const report = await verifyFundsFunctions({ takeFunds, releaseFunds, intent, declined, ledger: balance });
    expect(report.notChecked).toEqual([expect.stringContaining("known for ever")]);
  });

  it.runIf(runs)("takes nothing where the process dies before it commits, and takes it in the next call", async () => {
    const { ledger, before } = await holding("150.00");
    ledger.dieBeforeCommit();
    await expect(ledger.takeFunds({ key: "order-1", intent })).rejects.toThrow();
    expect(await ledger.balance()).toBe(before);
    expect(await ledger.takeFunds({ key: "order-1", intent })).toMatchObject({ replayed: false });
    expect(await ledger.balance()).not.toBe(before);
  });

  it.runIf(runs)("takes once for a key that two processes ask for, and never more than there is", async () => {
    const { ledger } = await holding("150.00");
    const taken = await Promise.all(
      [1, 2, 3, 4].flatMap((order) =>
        [ledger.takeFunds, ledger.takeElsewhere].map((takeFunds) => takeFunds({ key: `order-${order}`, intent })),
      ),
    );
    const takings = taken.filter((funds) => funds !== null);
    expect(takings).toHaveLength(2);
    expect(new Set(takings.map((funds) => funds.senderGatewayTransactionId)).size).toBe(1);
    expect(takings.map(({ replayed }) => replayed).sort()).toEqual([false, true]);
  });

  it.runIf(runs)("gives nothing back for a taking that it does not know", async () => {
    const { ledger, before } = await holding("150.00");
    await ledger.takeFunds({ key: "order-1", intent });
    const unknown = { key: "order-1", intent, senderGatewayTransactionId: "TX-of-another", refusal };
    await expect(Promise.resolve(ledger.releaseFunds(unknown as never))).rejects.toThrow("nothing was given back");
    expect(await ledger.balance()).not.toBe(before);
  });

  it.runIf(runs)("gives money back to the account that it was taken from, or says that it did not", async () => {
    const { ledger } = await holding("100.28");
    const { senderGatewayTransactionId = "" } = (await ledger.takeFunds({ key: "order-1", intent })) ?? {};
    await ledger.close("DE-0001");
    const release = async () =>
      ledger.releaseFunds({ key: "order-1", intent, senderGatewayTransactionId, refusal } as never);
    await expect(release()).rejects.toThrow("nothing was given back");
    await ledger.deposit("DE-0001", "EUR", "0");
    const empty = await ledger.balance();
    await release();
    expect(await ledger.balance()).not.toBe(empty);
  });
});

it("turns amounts into whole numbers, or refuses them", () => {
  expect([toUnits("100.28"), toUnits("7"), toUnits("0.0001")]).toEqual([1_002_800n, 70_000n, 1n]);
  for (const amount of ["0.00001", "-1", "1e3", ""]) expect(() => toUnits(amount)).toThrow("decimals");
});
