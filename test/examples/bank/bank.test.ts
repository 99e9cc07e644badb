import { afterEach, describe, expect, it } from "vitest";
import { postgresUrl } from "../../support/database.js";
import { deferred } from "../../support/deferred.js";
import { until } from "../../support/eventually.js";
import { hiddenFields } from "../../support/form-browser.js";
import { assertNoLeaks, bank, says, skipped } from "./bank-fixture.js";

describe.skipIf(postgresUrl === "")(`a bank's back end${skipped}`, () => {
  afterEach(assertNoLeaks);

  it("shows the price and both names, and pays once, however often and wherever it is confirmed", async () => {
    const correlationIds: (string | null)[] = [];
    const shared = await bank({
      onRequest: ({ operation, headers }) => {
        if (operation === "payments.create") correlationIds.push(headers.get("x-correlation-id"));
        return undefined;
      },
    });
    // The clicks pay, however long they take, and no worker.
    const env = { ROUND_MS: "600000" };
    const [first, second] = await Promise.all([shared.process(env), shared.process(env)]);
    const ada = await shared.logIn(first, "ada");
    const { path, confirm, page, fields } = await shared.quote(first, ada);
    for (const text of ["100.28 EUR", "15000.00 KES", "Ada Sender", "Baraka Receiver", "&#60;b&#62;Zuri"]) {
      expect(page.body).toContain(text);
    }
    const clicks = [first, second, first, second].map((address) => ada.post(address, confirm, fields()));
    for (const { status, location } of await Promise.all(clicks)) expect([status, location]).toEqual([303, path]);
    const paid = await until(() => ada.get(second, path), says("Status: <b>paid</b>"));
    expect(paid.body).toContain(shared.sandbox.payments[0]?.id);
    expect(await ada.post(first, confirm, fields())).toMatchObject({ status: 303 });
    expect(await shared.books()).toEqual([1, 1, "4899.72"]);
    expect(correlationIds).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
    expect(await Promise.all([first.end("SIGTERM"), second.end("SIGTERM")])).toEqual([0, 0]);
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
    const { only: first, ada, path, confirm, fields } = await shared.order();
    const click = ada.post(first, confirm, fields()).catch(() => "the process is gone");
    await until(() => shared.sandbox.payments.length === 1);
    await first.end("SIGKILL");
    expect(await click).toBe("the process is gone");
    const second = await shared.process();
    await until(() => ada.get(second, path), says("Status: <b>paid</b>"));
    expect([sent, ...(await shared.books())]).toEqual([1, 1, 1, "4899.72"]);
  });

  it("holds what nobody can tell about, until two operators have decided at the desk", async () => {
    const shared = await bank({
      onRequest: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
    });
    const { only, ada, id, path, confirm, page } = await shared.order();
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
    const proposal = { do: "propose", action: "release", why: "the service's support says that it never came" };
    const proposed = await olga.post(only, desk, { ...hiddenFields(seen, desk, "review"), ...proposal });
    expect(proposed).toMatchObject({ status: 303, location: expect.stringContaining("said=proposed") });
    const approve = hiddenFields(await petra.get(only, desk), desk, "approve");
    expect(await olga.post(only, desk, approve)).toMatchObject({ status: 403 });
    expect(await petra.post(only, desk, approve)).toMatchObject({ status: 303 });
    await until(() => ada.get(only, path), says("the money is back in the account"));
    expect(await shared.books()).toEqual([0, 0, "5000.00"]);
  });

  it("loses nothing where one of two processes is stopped under load", async () => {
    const inFlight = new Set<object>();
    const { promise: gate, resolve: open } = deferred<undefined>();
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
    open(undefined);
    for (const { status } of await Promise.all([...early, ...late])) expect(status).toBe(303);
    expect(await exit).toBe(0);
    for (const { path } of orders) await until(() => ada.get(second, path), says("Status: <b>paid</b>"));
    expect(await shared.books()).toEqual([12, 12, "3796.64"]);
  });
});
