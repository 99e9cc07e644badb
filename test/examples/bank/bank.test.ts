import pg from "pg";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { PostgresProxy } from "../../crash/postgres-proxy.js";
import { BankFixture, origin, postgresUrl, says, until } from "./bank-fixture.js";
import { Browser, hiddenFields } from "./browser.js";

const skipped = postgresUrl === "" ? " (skipped: CBP_POSTGRES_URL is not set)" : "";
const banks: BankFixture[] = [];

async function bank(...sandbox: Parameters<typeof BankFixture.start>) {
  const started = await BankFixture.start(...sandbox);
  banks.push(started);
  return started.fill();
}

describe.skipIf(postgresUrl === "")(`a bank's back end${skipped}`, () => {
  afterEach(() => {
    for (const { output, leaks } of banks.splice(0).map((one) => ({ output: one.output, leaks: one.leaks() }))) {
      expect(output.length).toBeGreaterThan(0);
      expect(leaks, "secrets and personal data in the logs").toEqual([]);
    }
  });

  it("shows the price and both names, and pays once, however often and wherever it is confirmed", async () => {
    const correlationIds: (string | null)[] = [];
    const shared = await bank({
      onRequest: ({ operation, headers }) => {
        if (operation === "payments.create") correlationIds.push(headers.get("x-correlation-id"));
        return undefined;
      },
    });
    const [first, second] = await Promise.all([shared.process(), shared.process()]);
    const ada = await shared.logIn(first, "ada");
    const { path, confirm, page, fields } = await shared.quote(first, ada);
    for (const text of ["100.28 EUR", "15000.00 KES", "Ada Sender", "Baraka Receiver", "&#60;b&#62;Zuri"]) {
      expect(page.body).toContain(text);
    }
    const clicks = [first, second, first, second].map((address) => ada.post(address, confirm, fields()));
    for (const { status, location } of await Promise.all(clicks)) expect([status, location]).toEqual([303, path]);
    const paid = await until(() => ada.get(second, path), says("This payment <b>paid</b>"));
    expect(paid.body).toContain(shared.practice.server.sandbox.payments[0]?.id);
    expect(await ada.post(first, confirm, fields())).toMatchObject({ status: 303 });
    expect([shared.payments, await shared.taken(), await shared.balance("DE-0001")]).toEqual([1, 1, "4899.72"]);
    expect(correlationIds).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
    expect(await Promise.all([first.end("SIGTERM"), second.end("SIGTERM")])).toEqual([0, 0]);
  });

  it("pays once where the process was killed between taking the money and paying", async () => {
    const shared = await bank();
    const first = await shared.process();
    const ada = await shared.logIn(first, "ada");
    const { path, confirm, fields } = await shared.quote(first, ada);
    const [account, journal] = [await transaction(shared), await transaction(shared)];
    await account.query("select from accounts where id = 'DE-0001' for update");
    const click = ada.post(first, confirm, fields()).catch(() => "the process is gone");
    // takeFunds waits for the account. Then the journal's table is kept from it, so that it comes to the money, and no further.
    await until(
      () => waiting(shared, "accounts", "tuple", "transactionid"),
      (count) => count > 0,
    );
    await journal.query("lock table cross_border_flows in share mode");
    await account.query("rollback");
    await until(
      () => shared.taken(),
      (count) => count === 1,
    );
    await until(
      () => waiting(shared, "cross_border_flows", "relation"),
      (count) => count > 0,
    );
    expect(await first.end("SIGKILL")).toBe("SIGKILL");
    expect(await click).toBe("the process is gone");
    await shared.pool.query("select pg_terminate_backend(pid) from pg_locks where not granted");
    await journal.query("rollback");
    expect([shared.payments, await shared.taken(), await shared.balance("DE-0001")]).toEqual([0, 1, "4899.72"]);

    const second = await shared.process();
    await until(() => ada.get(second, path), says("This payment <b>paid</b>"));
    expect([shared.payments, await shared.taken(), await shared.balance("DE-0001")]).toEqual([1, 1, "4899.72"]);
  });

  it("finds the payment where the process was killed while its response was on the way", async () => {
    let sent = 0;
    const shared = await bank({
      onResponse: ({ operation }) => {
        if (operation !== "payments.create") return undefined;
        sent += 1;
        return new Promise(() => {});
      },
    });
    const first = await shared.process();
    const ada = await shared.logIn(first, "ada");
    const { path, confirm, fields } = await shared.quote(first, ada);
    const click = ada.post(first, confirm, fields()).catch(() => "the process is gone");
    await until(
      () => shared.payments,
      (count) => count === 1,
    );
    await first.end("SIGKILL");
    expect(await click).toBe("the process is gone");
    const second = await shared.process();
    await until(() => ada.get(second, path), says("This payment <b>paid</b>"));
    expect([sent, shared.payments, await shared.taken()]).toEqual([1, 1, 1]);
  });

  it("declines what the account has too little money for", async () => {
    const shared = await bank();
    const only = await shared.process();
    const berta = await shared.logIn(only, "berta");
    const { path, confirm, page } = await shared.quote(only, berta);
    await berta.submit(only, page, confirm);
    expect((await berta.get(only, path)).body).toContain("The account has too little money");
    expect([shared.payments, await shared.taken(), await shared.balance("DE-0002")]).toEqual([0, 0, "50"]);
  });

  it("holds what nobody can tell about, until two operators have decided at the desk", async () => {
    const shared = await bank({
      onRequest: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
    });
    const only = await shared.process();
    const ada = await shared.logIn(only, "ada");
    const { id, path, confirm, page } = await shared.quote(only, ada);
    await ada.submit(only, page, confirm);
    await until(() => ada.get(only, path), says("is being paid, and takes longer"));

    const [olga, petra] = [await shared.logIn(only, "olga"), await shared.logIn(only, "petra")];
    const desk = `/desk?flow=${id}`;
    expect((await olga.get(only, "/desk")).body).toContain(`?flow=${id}`);
    const seen = await olga.get(only, desk);
    expect(seen.body).not.toMatch(/DE-0001|KE-7002|Ada Sender/);
    const shown = await olga.post(only, desk, hiddenFields(seen, desk, "show"));
    expect(shown.body).toContain("KE-7002");
    expect(shared.output.join("\n")).toMatch(/"shown":\{"atMs":\d+,"by":"olga","key":"[\w-]+"\}/);
    const proposal = { action: "release", why: "the service's support says that it never came" };
    const proposed = await olga.post(only, desk, { ...hiddenFields(seen, desk, "propose"), ...proposal });
    expect(proposed).toMatchObject({ status: 303, location: expect.stringContaining("said=proposed") });
    const approve = hiddenFields(await petra.get(only, desk), desk, "approve");
    expect(await olga.post(only, desk, approve)).toMatchObject({ status: 403 });
    expect(await petra.post(only, desk, approve)).toMatchObject({ status: 303 });
    await until(() => ada.get(only, path), says("the money is back in the account"));
    expect([shared.payments, await shared.taken(), await shared.balance("DE-0001")]).toEqual([0, 0, "5000.00"]);
  });

  it("loses nothing where one of two processes is stopped under load", async () => {
    const inFlight = new Set<object>();
    let open = () => {};
    const gate = new Promise<undefined>((resolve) => {
      open = () => resolve(undefined);
    });
    const shared = await bank({
      onRequest: (request) => {
        if (request.operation !== "payments.create") return undefined;
        inFlight.add(request);
        return gate;
      },
    });
    const [first, second] = await Promise.all([shared.process(), shared.process()]);
    const ada = await shared.logIn(first, "ada");
    const orders: Awaited<ReturnType<typeof shared.quote>>[] = [];
    for (let count = 0; count < 12; count += 1) orders.push(await shared.quote(first, ada));
    // A customer whose connection breaks, or who is sent away, clicks again, and the balancer leads to the process that is left.
    const click = async ({ confirm, fields }: (typeof orders)[number]) => {
      const response = await ada.post(first, confirm, fields()).catch(() => undefined);
      return response?.status === 303 ? response : ada.post(second, confirm, fields());
    };
    const early = orders.slice(0, 6).map(click);
    await until(
      () => inFlight.size,
      (size) => size >= 4,
    );
    const exit = first.end("SIGTERM");
    await until(
      () => ada.get(first, "/readyz"),
      ({ status }) => status === 503,
    );
    const late = orders.slice(6).map(click);
    open();
    for (const { status } of await Promise.all([...early, ...late])) expect(status).toBe(303);
    expect(await exit).toBe(0);
    for (const { path } of orders) await until(() => ada.get(second, path), says("This payment <b>paid</b>"));
    expect([shared.payments, await shared.taken(), await shared.balance("DE-0001")]).toEqual([12, 12, "3796.64"]);
  });

  it("ends well while a response does not come, and another process finds the payment", async () => {
    const shared = await bank({
      onResponse: ({ operation }) => (operation === "payments.create" ? new Promise(() => {}) : undefined),
    });
    const [first, second] = await Promise.all([shared.process({ CLOSE_MS: "1000" }), shared.process()]);
    const ada = await shared.logIn(first, "ada");
    const { path, confirm, fields } = await shared.quote(first, ada);
    const click = ada.post(first, confirm, fields());
    await until(
      () => shared.payments,
      (count) => count === 1,
    );
    const exit = first.end("SIGTERM");
    // The customer is not kept waiting, and learns from the other process what became of it.
    expect(await click).toMatchObject({ status: 303, location: path });
    expect(await exit).toBe(0);
    await until(() => ada.get(second, path), says("This payment <b>paid</b>"));
    expect([shared.payments, await shared.taken()]).toEqual([1, 1]);
  });

  it("is live and not ready while the database can't be reached, and ready again afterwards", async () => {
    const shared = await bank();
    await using proxy = await PostgresProxy.start(shared.env.DATABASE_URL ?? "");
    const only = await shared.process({ DATABASE_URL: proxy.url });
    const anybody = new Browser(origin);
    expect(await anybody.get(only, "/readyz")).toMatchObject({
      status: 200,
      body: '{"ready":true,"journal":true,"ledger":true}',
    });
    proxy.leadTo("postgresql://127.0.0.1:1/nowhere");
    await until(
      () => anybody.get(only, "/readyz"),
      ({ status }) => status === 503,
    );
    expect((await anybody.get(only, "/readyz")).body).toContain('"journal":false');
    expect((await anybody.get(only, "/healthz")).status).toBe(200);
    proxy.leadTo(shared.env.DATABASE_URL ?? "");
    await until(
      () => anybody.get(only, "/readyz"),
      ({ status }) => status === 200,
    );
    const ada = await shared.logIn(only, "ada");
    const { path, confirm, page } = await shared.quote(only, ada);
    await ada.submit(only, page, confirm);
    await until(() => ada.get(only, path), says("This payment <b>paid</b>"));
  });

  it("shows pages to whom they belong, and takes forms of its own pages only", async () => {
    const shared = await bank();
    const only = await shared.process();
    const [ada, berta, olga] = await Promise.all(["ada", "berta", "olga"].map((name) => shared.logIn(only, name)));
    if (ada === undefined || berta === undefined || olga === undefined) throw new Error("somebody is not logged in");
    const { path, confirm, page, fields } = await shared.quote(only, ada);
    expect(page.headers).toMatchObject({
      "content-security-policy": expect.stringMatching(
        /^default-src 'none'; style-src 'self'; .*frame-ancestors 'none'/,
      ),
      "cache-control": "no-store",
      "x-frame-options": "DENY",
    });
    expect(page.body).not.toMatch(/<script|style=|https?:\/\//);
    expect(ada.cookie).toMatch(/^__Host-session=[\w-]{43}$/);

    expect(await berta.get(only, path)).toMatchObject({ status: 404 });
    expect(await berta.post(only, confirm, { ...fields(), ...(await tokenOf(berta)) })).toMatchObject({ status: 404 });
    expect(await ada.post(only, confirm, { ...fields(), token: "another" })).toMatchObject({ status: 403 });
    expect(await ada.post(only, confirm, fields(), { origin: "https://evil.example" })).toMatchObject({ status: 403 });
    expect(await ada.post(only, confirm, fields(), { "content-type": "text/plain" })).toMatchObject({ status: 415 });
    expect(await olga.get(only, path)).toMatchObject({ status: 403 });
    expect(await ada.get(only, "/desk")).toMatchObject({ status: 403 });
    expect(await ada.post(only, "/desk?flow=1", fields())).toMatchObject({ status: 401 });
    const nobody = new Browser(origin);
    for (const place of ["/", path, "/desk"]) {
      expect(await nobody.get(only, place)).toMatchObject({ status: 303, location: "/login" });
    }
    expect(await nobody.post(only, confirm, fields())).toMatchObject({ status: 303, location: "/login" });
    const wrong = { name: "ada", password: "none of hers" };
    expect(await nobody.post(only, "/login", wrong)).toMatchObject({ status: 401 });
    expect(await nobody.post(only, "/login", wrong, { origin: "https://evil.example" })).toMatchObject({ status: 403 });
    const cookie = ada.cookie;
    expect(await ada.submit(only, page, "/logout")).toMatchObject({ status: 303, location: "/login" });
    ada.cookie = cookie;
    expect(await ada.get(only, path)).toMatchObject({ status: 303, location: "/login" });
    expect([shared.payments, await shared.taken()]).toEqual([0, 0]);

    async function tokenOf(browser: Browser) {
      return { token: hiddenFields(await browser.get(only, "/"), "/orders").token ?? "" };
    }
  });

  it("says what keeps it from a price, and asks for a new one where a price was lost", async () => {
    const shared = await bank();
    const only = await shared.process();
    const ada = await shared.logIn(only, "ada");
    const home = await ada.get(only, "/");
    const refused = await ada.submit(only, home, "/orders", {
      ...{ receiverGatewayId: "of-nobody", receiverAccount: "KE-7002", receiverCurrency: "KES" },
      ...{ receiverAmount: "15000.00", memo: "" },
    });
    expect([refused.status, refused.body]).toEqual([422, expect.stringContaining('value="of-nobody"')]);
    const wrong = await ada.submit(only, home, "/orders", { receiverAmount: "much" });
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining("Something in the form is not right")]);

    const { path, confirm, page, fields } = await shared.quote(only, ada);
    // Not the intent that was shown: the flow refuses it, and the customer sees the price again.
    await ada.submit(only, page, confirm, { intentId: "another" });
    expect((await ada.get(only, path)).body).toContain("This price can be confirmed until");
    await shared.pool.query("update cross_border_flows set expires_at = now() - interval '1 second'");
    expect((await ada.post(only, confirm, fields())).status).toBe(303);
    const lost = await until(() => ada.get(only, path), says("Show a new price"));
    expect([shared.payments, await shared.taken()]).toEqual([0, 0]);
    await ada.submit(only, lost, `${path}/quote`);
    await ada.submit(only, await ada.get(only, path), confirm);
    await until(() => ada.get(only, path), says("This payment <b>paid</b>"));
    expect(shared.payments).toBe(1);

    const unwanted = await shared.quote(only, ada);
    await ada.submit(only, unwanted.page, `${unwanted.path}/cancel`);
    expect((await ada.get(only, unwanted.path)).body).toContain("You cancelled it.");
    // A page that was left open.
    await ada.post(only, unwanted.confirm, unwanted.fields());
    expect((await ada.get(only, unwanted.path)).body).toContain("You cancelled it.");
    await ada.post(only, `${path}/cancel`, fields());
    expect((await ada.get(only, path)).body).toContain("This payment <b>paid</b>");
    expect([shared.payments, await shared.taken()]).toEqual([1, 1]);
  });
});

/** A transaction of the test's own, which keeps others waiting. It ends with the test. */
async function transaction({ env }: BankFixture): Promise<pg.Client> {
  const client = new pg.Client(env.DATABASE_URL);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  return client;
}

/** How many wait for a lock of these kinds, of a statement that names the table. */
async function waiting(shared: BankFixture, table: string, ...kinds: string[]): Promise<number> {
  const row = await shared.one<{ count: string }>(
    `select count(*) from pg_locks l join pg_stat_activity a using (pid)
     where not granted and a.datname = current_database() and a.query like '%' || $1 || '%' and l.locktype = any($2::text[])`,
    table,
    `{${kinds.join(",")}}`,
  );
  return Number(row?.count);
}
