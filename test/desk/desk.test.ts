import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import http2 from "node:http2";
import { text } from "node:stream/consumers";
import { deskListener, operatorDesk } from "cross-border-payments/desk";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { clock } from "../../src/core/clock.js";
import { resolutionOptions } from "../../src/flows/operate.js";
import { request } from "../flows/flow-fixture.js";
import { hiddenFields } from "../support/form-browser.js";
import { originOf } from "../support/origin-of.js";
import { deskFixture } from "./desk-fixture.js";

const accounts = [request.senderAccount, request.receiverAccount];

function expectIn(body: string, ...shown: readonly string[]): void {
  for (const one of shown) expect(body).toContain(one);
}

describe("the queue", () => {
  it.each([
    ["", 100, "k-119", "5 days"],
    ["?q=K-42", 1, "k-42", "2 days"],
    ["?q=tx-1", 100, "k-119", "5 days"],
    ["?status=approval", 1, "k-7", "7 hours"],
    ["?q=nothing", 0, "", ""],
  ])("shows of 120 flows by %j: %i", async (query, count, first, age) => {
    const { flow, ask } = await deskFixture();
    for await (const held of flow.held()) {
      const flows = Array.from({ length: 120 }, (_, hours) => ({
        ...{ ...held, key: `k-${hours}`, createdAtMs: Date.now() - hours * 3_600_000 },
        ...(hours === 7 && { proposal: { action: "release", by: "Olga", why: "4711", atMs: 0 } }),
      }));
      Reflect.set(flow, "held", () => flows[Symbol.iterator]());
    }
    const { body } = await ask("s-olga", `/${query}`);
    const rows = body.match(/<tr><td.*?<\/tr>/gs) ?? [];
    expect(rows).toHaveLength(count);
    expectIn(rows[0] ?? "", first, age);
    expect(body).toContain("18000.00 EUR");
  });

  it("names flows that can't be read beside those that can, and says if nothing waits", async () => {
    const { flow, ask } = await deskFixture();
    Reflect.set(flow, "held", async function* () {
      yield* [];
      throw new AggregateError([], "the flow of key k can't be read");
    });
    const { body } = await ask("s-olga", "/");
    expectIn(body, "Nothing needs review", "the flow of key k");
  });
});

describe("a flow's page", () => {
  it("shows reason, evidence, and timeline, and hides names and account numbers", async () => {
    const { ask, target, flow, key } = await deskFixture();
    const { claim, history = [] } = (await flow.details(key)) ?? {};
    const [, claimed, unknown] = history.map(({ atMs }) => new Date(atMs).toISOString());
    const { body, status } = await ask("s-olga", target);
    expect(status).toBe(200);
    expectIn(
      body,
      "<title>order/&lt;b&gt;1&lt;/b&gt;?&amp;flow=x# – Operator console</title>",
      "Searched 3 times; the payment isn&#39;t listed.",
      "Refund 150.00 EUR to the sender",
      `Sent between: ${claimed} and ${unknown}`,
      `Signature: ${claim?.signature}`,
      "Searching for the payment",
    );
    for (const secret of accounts) expect(body).not.toContain(secret);
  });

  it("shows names and account numbers to a user who asks, there and on the next page, after that was noted", async () => {
    const { post, fieldsOf, shown, key } = await deskFixture();
    const page = await post("s-olga", await fieldsOf("s-olga", "show"));
    expectIn(page.body, ...accounts);
    const review = { ...(await fieldsOf("s-olga", "review")), action: "release", why: "4711" };
    const confirmation = await post("s-olga", review);
    for (const account of accounts) expect(confirmation.body).not.toContain(account);
    const again = await post("s-olga", hiddenFields(confirmation, "", "review"));
    expectIn(again.body, ...accounts);
    expect(shown).toEqual([1, 2].map(() => ({ atMs: expect.any(Number), by: "Olga", key })));
  });

  it.each([
    ["the note fails", { shown: () => Promise.reject(new Error("secret-4711")) }, 500],
    ["nothing notes it", {}, 403],
  ])("shows no names and account numbers if %s", async (_, on, status) => {
    const { post, fieldsOf } = await deskFixture({ on });
    const shown = await post("s-olga", { ...(await fieldsOf("s-olga", "review")), do: "show" });
    expect(shown.status).toBe(status);
    expect(shown.body).not.toMatch(/DE-0001|secret-4711/);
  });
});

describe("a decision", () => {
  it("is confirmed, proposed, and approved by two people, who see amount and ticket", async () => {
    const { post, ask, target, fieldsOf, bank, key, outcomeOf } = await deskFixture();
    const chosen = { ...(await fieldsOf("s-olga", "review")), action: "release", why: "ticket 4711" };
    const confirmation = await post("s-olga", chosen);
    expectIn(confirmation.body, "Propose: refund 150.00 EUR to the sender", "ticket 4711");
    expect(bank.released).toEqual([]);
    const proposed = await post("s-olga", hiddenFields(confirmation, "", "propose"));
    const location = `?${new URLSearchParams({ flow: key, said: "proposed" })}`;
    expect(proposed).toMatchObject({ status: 303, location });
    expect((await ask("s-olga", target)).body).toContain("Another person must approve it.");
    expect((await ask("s-petra", "/")).body).toContain("Waits for approval");
    const seen = await ask("s-petra", target);
    expectIn(seen.body, "Approve: refund 150.00 EUR to the sender", "ticket 4711");
    expect((await post("s-petra", hiddenFields(seen, "", "approve"))).status).toBe(303);
    expect(bank.released).toEqual([key]);
    const decisions = [{ action: "release", by: "Olga", why: "ticket 4711", approvedBy: "Petra" }];
    expect(await outcomeOf()).toMatchObject({ status: "rejected", decisions });
    expect((await ask("s-olga", target)).body).toContain("The sender&#39;s money was given back.");
  });

  it("can have everything that the flow takes", async () => {
    const { post, fieldsOf } = await deskFixture();
    const pages = await Promise.all(
      ["found", "release", "resend"].map(async (action) => {
        const { body } = await post("s-olga", { ...(await fieldsOf("s-olga", "review")), action, why: "4711" });
        return body;
      }),
    );
    // The user is the one who decides.
    const { by: _, ...asked } = resolutionOptions;
    for (const name of Object.keys(asked)) expect(pages.join("")).toContain(` name="${name}"`);
  });

  it("that is proposed can be refused", async () => {
    const { post, proposal, fieldsOf, proposalOf } = await deskFixture();
    await post("s-olga", await proposal());
    const { location } = await post("s-petra", await fieldsOf("s-petra", "refuse"));
    expect(location).toContain("said=refused");
    expect(await proposalOf()).toBeUndefined();
  });

  it("with a record shows it to the person who approves, without names and account numbers", async () => {
    const { ask, post, target, proposal, fieldsOf, flow, key } = await deskFixture();
    const creationRequestSignatureBase64 = (await flow.details(key))?.claim?.signature;
    const record = { ...request, id: "p-of-olga", senderGatewayStatus: "reverted", creationRequestSignatureBase64 };
    await post("s-olga", await proposal({ action: "found", payment: JSON.stringify(record) }));
    const { body } = await ask("s-petra", target);
    expectIn(body, "p-of-olga", "reverted");
    expect(body).not.toContain(request.receiverAccount);
    const asked = await post("s-petra", await fieldsOf("s-petra", "show"));
    expect(asked.body.split(request.receiverAccount).length).toBeGreaterThan(3);
  });

  it("that takes longer than 20 s is carried out, while the page reloads and takes no other", async () => {
    const { ask, post, target, proposal, bank, key, searches, proposalOf } = await deskFixture({ people: 1 });
    const form = await proposal();
    let respond = (_: undefined): void => {};
    searches.waitFor = new Promise((resolve) => {
      respond = resolve;
    });
    const { setTimer } = clock;
    const timers = vi
      .spyOn(clock, "setTimer")
      .mockImplementation((work, ms) => setTimer(work, ms === 20_000 ? 50 : ms));
    onTestFinished(() => timers.mockRestore());
    const { status, location } = await post("s-olga", form);
    expect([status, location]).toEqual([303, expect.stringContaining("said=underway")]);
    const { body } = await ask("s-petra", target);
    expect(body).toContain('<meta http-equiv="refresh" content="5">');
    expect(body).not.toContain('value="review"');
    expect([(await post("s-olga", form)).status, bank.released, await proposalOf()]).toEqual([409, [], undefined]);
    respond(undefined);
    await expect.poll(() => bank.released).toEqual([key]);
    await expect.poll(async () => (await ask("s-petra", target)).body).toContain("Rejected by the operator");
  });
});

it("has a policy that lets nothing in but its own style and script, on every page, failures included", async () => {
  const { ask, target, post, proposal } = await deskFixture();
  const pages = [
    await ask("s-olga", "/"),
    await ask("s-olga", target),
    await post("s-olga", { ...(await proposal()), do: "review" }),
    await ask("nobody", target),
    await ask("s-olga", "/", { method: "PUT" }),
    await ask("s-olga", "/", { headers: { host: "evil.test" } }),
  ];
  for (const { headers, body } of pages) {
    const [, nonce] = /'nonce-([^']+)'/.exec(String(headers["content-security-policy"])) ?? [];
    expect(headers).toMatchObject({
      "content-security-policy": expect.stringMatching(
        /^default-src 'none'; style-src 'nonce-.+frame-ancestors 'none'/,
      ),
      ...{ "cache-control": "no-store", "x-frame-options": "DENY", "x-content-type-options": "nosniff" },
      "referrer-policy": "same-origin",
    });
    expect(body.match(/<script[^>]*>.*?<\/script>/gs)).toEqual([
      `<script nonce="${nonce}" src="?asset=script" defer></script>`,
    ]);
    expect(body).not.toMatch(/https?:\/\/| on\w+=| style=/);
  }
  expect(await ask("s-olga", "/desk?asset=script")).toMatchObject({
    status: 200,
    headers: { "content-type": expect.stringMatching(/^text\/javascript/) },
  });
});

it("works over HTTP/2, and checks the host there", async () => {
  const { desk, origin, target, proposal, proposalOf } = await deskFixture();
  const listener = deskListener(desk);
  const server = http2.createServer((incoming, outgoing) => void listener(incoming, outgoing));
  const session = http2.connect(await originOf(server));
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const form = new URLSearchParams(await proposal());
  const own = { ":path": target, ":authority": new URL(origin).host, cookie: "session=s-olga" };
  const post = { ...own, ":method": "POST", origin, "content-type": "application/x-www-form-urlencoded" };
  const ask = async (headers: http2.OutgoingHttpHeaders, body = "") => {
    const stream = session.request(headers, { endStream: false });
    stream.end(body);
    const [answer] = await once(stream, "response");
    stream.resume();
    return answer[":status"];
  };
  expect(await ask({ ...own, ":authority": "evil.example" })).toBe(403);
  expect(await ask(post, String(form))).toBe(303);
  expect(await proposalOf()).toMatchObject({ by: "Olga" });
});

describe("an attack is refused", () => {
  const long = "a".repeat(300_000);
  it.each([
    ["a form of another origin's page", { origin: "http://evil.test" }, {}, 403],
    ["a form of a page that hides its origin", { origin: "null" }, {}, 403],
    ["a form that no page sent", { origin: undefined }, {}, 403],
    ["a host that a resolver leads here", { host: "evil.test" }, {}, 403],
    ["a form as text", { "content-type": "text/plain" }, {}, 403],
    ["an unknown session", { cookie: "session=nobody" }, {}, 401],
    ["another user's session", { cookie: "session=s-petra" }, {}, 403],
    ["no token", {}, { token: "" }, 403],
    [
      "an unsigned token",
      {},
      { token: "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJPbGdhIiwiYXVkIjoiZGVzayJ9." },
      403,
    ],
    ["an old revision", {}, { revision: "1" }, 409],
    ["an unknown action", {}, { action: "pay" }, 400],
    ["an unknown action to confirm", {}, { do: "review", action: "constructor" }, 400],
    ["an unknown task", {}, { do: "__proto__" }, 400],
    ["no reason", {}, { why: "" }, 400],
    ["a record that isn't JSON", {}, { action: "found", payment: "{" }, 400],
    ["a record that isn't an object", {}, { action: "found", payment: "1" }, 400],
    ["a long form", {}, { payment: long }, 413],
    ["a long form without its length", { "transfer-encoding": "chunked" }, { payment: long }, 413],
  ] as const)("%s", async (_, headers, fields, status) => {
    const { post, proposal, proposalOf, errors } = await deskFixture();
    const form = await proposal();
    expect(await post("s-olga", { ...form, ...fields }, headers)).toMatchObject({ status });
    expect([await proposalOf(), errors]).toEqual([undefined, []]);
    expect(await post("s-olga", form, { "transfer-encoding": "chunked" })).toMatchObject({ status: 303 });
  });

  it("by a token that is ten hours old", async () => {
    const { post, proposal, proposalOf } = await deskFixture();
    const form = await proposal();
    const time = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 10 * 3_600_000);
    expect(await post("s-olga", form)).toMatchObject({ status: 403 });
    time.mockRestore();
    expect(await proposalOf()).toBeUndefined();
  });

  it("that replays an approval, approves one's own proposal, or approves after the flow has changed", async () => {
    const { post, proposal, fieldsOf, bank, flow, key } = await deskFixture();
    await post("s-olga", await proposal({ action: "resend" }));
    const stale = await fieldsOf("s-petra", "approve");
    // Olga's page has no such form, and neither has that of her other account.
    for (const session of ["s-olga", "s-olga2"]) {
      const { token = "" } = await fieldsOf(session, "refuse");
      expect(await post(session, { ...stale, token })).toMatchObject({ status: 409 });
    }
    const revisionOf = async () => (await flow.details(key))?.revision ?? 0;
    await flow.refuse(key, { by: "Petra", revision: await revisionOf() });
    await flow.propose(key, "release", { by: "Olga", why: "4711", revision: await revisionOf() });
    expect(await post("s-petra", stale)).toMatchObject({ status: 409 });
    const form = await fieldsOf("s-petra", "approve");
    const twice = await Promise.all([post("s-petra", form), post("s-petra", form)]);
    expect(twice.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect(await post("s-petra", form)).toMatchObject({ status: 409 });
    expect(bank.released).toEqual([key]);
  });
});

describe("an attack comes to nothing", () => {
  it("by markup in keys, memos, tickets, records, searches, and filters", async () => {
    const { ask, post, target, proposal, fieldsOf, flow, key } = await deskFixture();
    const evil = `"'><img src=x onerror=alert(1)><script>alert(1)</script>`;
    const query = new URLSearchParams({ q: evil, status: evil, said: evil });
    const creationRequestSignatureBase64 = (await flow.details(key))?.claim?.signature;
    const payment = JSON.stringify({ ...request, id: evil, creationRequestSignatureBase64, [evil]: evil });
    const pages = [
      await post("s-olga", await proposal({ do: "review", why: evil })),
      await post("s-olga", await proposal({ action: "found", why: evil, payment })),
      await ask("s-petra", `/?${query}`),
      await ask("s-petra", "/"),
      await ask("s-petra", `${target}&${query}`),
      await post("s-petra", await fieldsOf("s-petra", "show")),
      await ask("s-petra", `/?${new URLSearchParams({ flow: evil })}`),
    ];
    for (const { body } of pages) expect(body).not.toMatch(/<img|<script>|<b>1<\/b>|<\/textarea><s/);
    expect(pages.map(({ body }) => body).join("")).toContain("&lt;img src=x");
  });

  it.each([
    ["/", 405, "PUT"],
    ["/%2e%2e/x?said=__proto__", 200],
    ["/?flow=", 400],
    ["/?flow=none", 404],
    [`/?flow=${"a".repeat(5000)}`, 400],
    ["/?flow=%00", 400],
  ])("by the address %j: %i", async (path, status, method = "GET") => {
    const { ask, errors } = await deskFixture();
    expect([(await ask("s-olga", path, { method })).status, errors]).toEqual([status, []]);
  });
});

it("shows nothing of what failed", async () => {
  const { flow, ask, errors } = await deskFixture();
  Reflect.set(flow, "counts", () => Promise.reject(new Error("secret-4711")));
  const { status, body } = await ask("s-olga", "/");
  expect([status, errors]).toEqual([500, [expect.objectContaining({ message: "secret-4711" })]]);
  expect(body).not.toContain("secret-4711");
});

it.each([
  [{ flow: undefined }, "flow must be a PaymentFlow"],
  [{ authenticate: "olga" }, "authenticate must be a function"],
  [{ origin: "payments.bank.example" }, "origin must be an origin"],
  [{ origin: "https://payments.bank.example/desk" }, "origin must be an origin"],
  [{ csrfSecret: "short-secret" }, "csrfSecret must be a string of 32 characters or more; got a string"],
  [{ user: "olga" }, 'unknown option "user"'],
] as const)("refuses the options %j", async (wrong, message) => {
  const { flow } = await deskFixture();
  expect(() => operatorDesk({ flow, authenticate: () => null, ...wrong } as never)).toThrow(message);
});

const fieldsOfForm = (form: string) => Object.fromEntries(new URLSearchParams(form));

it.each([
  ["made an object of it", (form: string) => ({ ...fieldsOfForm(form), more: { a: ["b"] } })],
  ["kept its text", (form: string) => form],
  ["kept its bytes", (form: string) => Buffer.from(form)],
  ["left it unread, and an empty object", undefined],
])("takes a form if a parser before it has %s", async (_, parse) => {
  const before = async (incoming: IncomingMessage) => {
    if (incoming.method === "POST") Object.assign(incoming, { body: parse?.(await text(incoming)) ?? {} });
  };
  const { post, proposal, proposalOf } = await deskFixture({ before });
  expect(await post("s-olga", await proposal())).toMatchObject({ status: 303 });
  expect(await proposalOf()).toMatchObject({ action: "release", by: "Olga", why: "ticket 4711" });
});

it("tells on.error if a web-standard request was read before", async () => {
  const { desk, errors, origin, target } = await deskFixture();
  const headers = { cookie: "session=s-olga", origin, "content-type": "application/x-www-form-urlencoded" };
  const request = new Request(origin + target, { method: "POST", headers, body: "do=propose" });
  await request.text();
  expect([(await desk(request)).status, errors]).toEqual([500, [expect.any(TypeError)]]);
});
