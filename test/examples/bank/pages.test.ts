import { afterEach, describe, expect, it } from "vitest";
import { postgresUrl, sql } from "../../support/database.js";
import { until } from "../../support/eventually.js";
import { Browser, hiddenFields } from "../../support/form-browser.js";
import { assertNoLeaks, bank, origin, says, skipped } from "./bank-fixture.js";

describe.skipIf(postgresUrl === "")(`a process of a bank${skipped}`, () => {
  afterEach(assertNoLeaks);

  it("is live and not ready while the database can't be reached, and ready again afterwards", async () => {
    const shared = await bank();
    const only = await shared.process();
    const name = new URL(shared.databaseUrl).pathname.slice(1);
    const admit = (connections: boolean) => sql(`alter database ${name} allow_connections ${connections}`);
    const anybody = new Browser(origin);
    expect(await anybody.get(only, "/readyz")).toMatchObject({
      status: 200,
      body: '{"ready":true,"journal":true,"ledger":true}',
    });
    await admit(false);
    await sql(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    await until(
      () => anybody.get(only, "/readyz"),
      ({ status }) => status === 503,
    );
    expect((await anybody.get(only, "/readyz")).body).toContain('"journal":false');
    expect((await anybody.get(only, "/healthz")).status).toBe(200);
    await admit(true);
    await until(
      () => anybody.get(only, "/readyz"),
      ({ status }) => status === 200,
    );
    const ada = await shared.logIn(only, "ada");
    expect((await shared.quote(only, ada)).page.body).toContain("100.28 EUR");
  });

  it("shows pages to whom they belong, and takes forms of its own pages only", async () => {
    const shared = await bank();
    const { only, ada, path, confirm, page, fields } = await shared.order();
    const [berta, olga] = [await shared.logIn(only, "berta"), await shared.logIn(only, "olga")];
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
    const { token = "" } = hiddenFields(await berta.get(only, "/"), "/orders");
    expect(await berta.post(only, confirm, { ...fields(), token })).toMatchObject({ status: 404 });
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
    expect(await shared.books()).toEqual([0, 0, "5000"]);
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
    expect(await shared.books()).toEqual([0, 0, "5000"]);
    await ada.submit(only, lost, `${path}/quote`);
    await ada.submit(only, await ada.get(only, path), confirm);
    await until(() => ada.get(only, path), says("Status: <b>paid</b>"));

    const unwanted = await shared.quote(only, ada);
    await ada.submit(only, unwanted.page, `${unwanted.path}/cancel`);
    expect((await ada.get(only, unwanted.path)).body).toContain("You cancelled it.");
    // A page that was left open.
    await ada.post(only, unwanted.confirm, unwanted.fields());
    expect((await ada.get(only, unwanted.path)).body).toContain("You cancelled it.");
    await ada.post(only, `${path}/cancel`, fields());
    expect((await ada.get(only, path)).body).toContain("Status: <b>paid</b>");
    expect(await shared.books()).toEqual([1, 1, "4899.72"]);
  });
});
