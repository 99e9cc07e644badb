import http2 from "node:http2";
import { deskListener, operatorDesk } from "cross-border-payments/desk";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { clock } from "../../src/core/clock.js";
import { resolutionOptions } from "../../src/flows/operate.js";
import { request } from "../flows/flow-fixture.js";
import { originOf } from "../support/origin-of.js";
import { deskFixture } from "./desk-fixture.js";

const why = "ticket 4711";

describe("the desk", () => {
  it("lists held flows, and shows one with its reason, its request, and its history, without names and accounts", async () => {
    const { ask, target, bank } = await deskFixture();
    const list = await ask("s-olga", "/anywhere/at/all");
    expect(list.status).toBe(200);
    for (const text of ["150.00 EUR", "beta-mobile", "held", "The service&#39;s response doesn&#39;t say whether"]) {
      expect(list.body).toContain(text);
    }
    const { status, body } = await ask("s-olga", target);
    expect(status).toBe(200);
    for (const text of [
      "POST /payments",
      ": claimed",
      ": unknown (http_504)",
      "calls releaseFunds",
      "Searched 3 times",
    ]) {
      expect(body).toContain(text);
    }
    for (const secret of [request.senderAccount, request.receiverAccount]) expect(body).not.toContain(secret);
    // The user is the one who decides. The form asks for everything else that a decision can have.
    const { by: _, ...asked } = resolutionOptions;
    for (const name of Object.keys(asked)) expect(body).toContain(` name="${name}"`);
    expect(bank.released).toEqual([]);
  });

  it("lets two people decide, and does it", async () => {
    const { ask, target, fieldsOf, bank, flow, key } = await deskFixture();
    const proposed = await ask("s-olga", target, {
      form: { ...(await fieldsOf("s-olga", "propose")), action: "release", why },
    });
    expect([proposed.status, proposed.headers.location]).toEqual([
      303,
      `?${new URLSearchParams({ flow: key, said: "proposed" })}`,
    ]);
    expect((await ask("s-olga", target)).body).toContain("Another person must approve it");
    const approved = await ask("s-petra", target, { form: await fieldsOf("s-petra", "approve") });
    expect(approved.status).toBe(303);
    expect(bank.released).toEqual([key]);
    expect((await flow.details(key))?.outcome).toMatchObject({
      status: "rejected",
      decisions: [{ action: "release", by: "Olga", why, approvedBy: "Petra" }],
    });
  });

  it("shows who approves the record that the flow would be settled with, without names and accounts", async () => {
    const { ask, target, fieldsOf, flow, key } = await deskFixture();
    const { claim } = (await flow.details(key)) ?? {};
    const payment = JSON.stringify({
      ...{ ...request, id: "p-of-olga", senderGatewayStatus: "reverted" },
      creationRequestSignatureBase64: claim?.signature,
    });
    const proposed = await ask("s-olga", target, {
      form: { ...(await fieldsOf("s-olga", "propose")), action: "found", why, payment },
    });
    expect(proposed.status).toBe(303);
    const { body } = await ask("s-petra", target);
    for (const text of ["p-of-olga", "reverted"]) expect(body).toContain(text);
    expect(body).not.toContain(request.receiverAccount);
    const shown = await ask("s-petra", target, { form: await fieldsOf("s-petra", "show") });
    expect(shown.body.split(request.receiverAccount).length).toBeGreaterThan(3);
  });

  it("lets one decide where one is enough, and refuse what was proposed", async () => {
    const { ask, target, fieldsOf, bank, key } = await deskFixture({ people: 1 });
    const decided = await ask("s-olga", target, {
      form: { ...(await fieldsOf("s-olga", "resolve")), action: "release", why },
    });
    expect([decided.status, bank.released]).toEqual([303, [key]]);
    expect((await ask("s-olga", target)).body).toContain("taken and given back, transaction ");
    const two = await deskFixture();
    await two.ask("s-olga", two.target, {
      form: { ...(await two.fieldsOf("s-olga", "propose")), action: "release", why },
    });
    const refused = await two.ask("s-petra", two.target, {
      form: await two.fieldsOf("s-petra", "refuse"),
    });
    expect(refused.headers.location).toContain("said=refused");
    expect(await two.proposalOf()).toBeUndefined();
  });

  it("continues if the connection is cut, takes nothing else in the meantime, and says afterwards why it failed", async () => {
    const { ask, target, fieldsOf, bank, flow, key, searches, revisionOf, proposalOf } = await deskFixture();
    await flow.propose(key, "release", { by: "Olga", why, revision: await revisionOf() });
    const form = await fieldsOf("s-petra", "approve");
    let respond = (_: Response | undefined): void => {};
    searches.waitFor = new Promise((resolve) => {
      respond = resolve;
    });
    const cut = new AbortController();
    const approving = ask("s-petra", target, { form, signal: cut.signal });
    await expect
      .poll(async () => (await ask("s-olga", target)).body)
      .toContain("The desk is carrying out the approval by Petra");
    cut.abort();
    await expect(approving).rejects.toThrow();
    const meanwhile = await ask("s-olga", target);
    expect(meanwhile.body).toContain('<meta http-equiv="refresh" content="5">');
    expect(meanwhile.body).not.toContain('value="approve"');
    for (const task of ["approve", "refuse"]) {
      const again = await ask("s-petra", target, { form: { ...form, do: task, why } });
      expect([again.status, again.body.includes("the approval by Petra")]).toEqual([409, true]);
    }
    respond(Response.json({}, { status: 503 }));
    await expect.poll(async () => (await ask("s-olga", target)).body).toContain("Of the approval by Petra");
    const { body } = await ask("s-petra", target);
    expect(body).toContain("The list of payments couldn&#39;t be read");
    expect(body).not.toContain("http-equiv");
    expect([bank.released, (await proposalOf())?.by]).toEqual([[], "Olga"]);
    searches.waitFor = undefined;
    const approved = await ask("s-petra", target, { form: await fieldsOf("s-petra", "approve") });
    expect([approved.status, bank.released]).toEqual([303, [key]]);
    expect((await ask("s-petra", target)).body).not.toContain("Of the approval by Petra");
  });

  it("shows the page after 20 s if a decision takes longer, and carries it out", async () => {
    const { ask, target, fieldsOf, bank, flow, key, searches, revisionOf } = await deskFixture();
    await flow.propose(key, "release", { by: "Olga", why, revision: await revisionOf() });
    const form = await fieldsOf("s-petra", "approve");
    let respond = (_: undefined): void => {};
    searches.waitFor = new Promise((resolve) => {
      respond = resolve;
    });
    const { setTimer } = clock;
    const timers = vi
      .spyOn(clock, "setTimer")
      .mockImplementation((work, ms) => setTimer(work, ms === 20_000 ? 50 : ms));
    onTestFinished(() => timers.mockRestore());
    const late = await ask("s-petra", target, { form });
    expect([late.status, late.headers.location]).toEqual([303, `?${new URLSearchParams({ flow: key })}`]);
    expect((await ask("s-petra", target)).body).toContain("The desk is carrying out the approval by Petra");
    expect(bank.released).toEqual([]);
    respond(undefined);
    await expect.poll(() => bank.released).toEqual([key]);
    await expect.poll(async () => (await ask("s-petra", target)).body).toContain("approved by Petra");
  });

  it("shows names and accounts to a user who asks, after that was logged", async () => {
    const { ask, target, fieldsOf, shown, key } = await deskFixture();
    const { body, status } = await ask("s-olga", target, { form: await fieldsOf("s-olga", "show") });
    expect(status).toBe(200);
    expect(body).toContain(request.senderAccount);
    expect(shown).toEqual([{ atMs: expect.any(Number), by: "Olga", key }]);
    const unnoted = await deskFixture({
      on: {
        shown: () => {
          throw new Error("the log is full of secret-4711");
        },
      },
    });
    const failed = await unnoted.ask("s-olga", unnoted.target, { form: await unnoted.fieldsOf("s-olga", "show") });
    expect(failed.status).toBe(500);
    expect(failed.body).not.toMatch(/DE-0001|secret-4711/);
    const never = await deskFixture({ on: {} });
    expect((await never.ask("s-olga", never.target)).body).toContain("The desk doesn't show names");
  });

  it("works over HTTP/2, checks host and origin there, and closes no connection for a form that is too long", async () => {
    const { flow, key, proposalOf } = await deskFixture();
    const server = http2.createServer();
    const origin = await originOf(server);
    const listener = deskListener(operatorDesk({ flow, origin, authenticate: () => ({ name: "Olga" }) }));
    server.on("request", (incoming, outgoing) => void listener(incoming, outgoing));
    const session = http2.connect(origin);
    onTestFinished(() => {
      session.close();
      server.close();
    });
    const ask = (headers: http2.OutgoingHttpHeaders, body = "") =>
      new Promise<readonly [number | undefined, string]>((resolve, reject) => {
        const stream = session.request(headers, { endStream: body === "" });
        let [status, text]: [number | undefined, string] = [undefined, ""];
        stream.on("response", (response) => {
          status = response[":status"];
        });
        stream.on("data", (data) => {
          text += data;
        });
        stream.on("error", reject);
        stream.on("end", () => resolve([status, text]));
        if (body !== "") stream.end(body);
      });
    const path = `/?flow=${encodeURIComponent(key)}`;
    const [status, text] = await ask({ ":path": path });
    expect([status, text.includes("another person must approve")]).toEqual([200, true]);
    const form = { ":method": "POST", ":path": path, origin, "content-type": "application/x-www-form-urlencoded" };
    const [, token = ""] = /name="token" value="([^"]+)"/.exec(text) ?? [];
    const [, revision = ""] = /name="revision" value="([^"]+)"/.exec(text) ?? [];
    expect(await ask(form, "w".repeat(300_000))).toMatchObject([413, expect.stringContaining("too long")]);
    const fields = new URLSearchParams({ do: "propose", token, revision, action: "release", why });
    expect(await ask(form, String(fields))).toMatchObject([303, ""]);
    expect(await proposalOf()).toMatchObject({ by: "Olga", why });
    expect(await ask({ ...form, origin: "https://evil.example" }, String(fields))).toMatchObject([
      403,
      expect.anything(),
    ]);
    expect(await ask({ ":path": path, ":authority": "evil.example" })).toMatchObject([403, expect.anything()]);
  });

  it("has a policy that lets nothing in, on every page, failures included", async () => {
    const { ask, target } = await deskFixture();
    for (const page of [
      await ask("s-olga", target),
      await ask("nobody", target),
      await ask("s-olga", "/", { method: "PUT" }),
    ]) {
      expect(page.headers).toMatchObject({
        "content-security-policy": expect.stringMatching(
          /^default-src 'none'; style-src 'nonce-[\w-]+'; .*frame-ancestors 'none'/,
        ),
        ...{ "cache-control": "no-store", "x-frame-options": "DENY", "x-content-type-options": "nosniff" },
        "referrer-policy": "same-origin",
      });
      expect(page.body).not.toMatch(/<script|https?:\/\//);
    }
  });
});

describe("attacks on the desk", () => {
  it.each([
    ["a form of another origin's page", { origin: "http://evil.test" }, 403],
    ["a form of a page that hides its origin", { origin: "null" }, 403],
    ["a form that no page sent", { origin: undefined }, 403],
    ["a form of another port of this machine", { origin: "http://127.0.0.1:1" }, 403],
    ["a form that the browser says comes from another site", { "sec-fetch-site": "cross-site" }, 403],
    ["a host that a resolver leads here", { host: "evil.test" }, 403],
    ["a body as a form of text", { "content-type": "text/plain" }, 415],
    ["a session that is none", { cookie: "session=nobody" }, 401],
    ["a session of somebody else, with this one's form", { cookie: "session=s-petra" }, 403],
  ])("are refused: %s", async (_, headers, status) => {
    const { ask, target, fieldsOf, proposalOf } = await deskFixture();
    const form = { ...(await fieldsOf("s-olga", "propose")), action: "release", why };
    expect(await ask("s-olga", target, { form, headers })).toMatchObject({ status });
    expect(await proposalOf()).toBeUndefined();
    expect(await ask("s-olga", target, { form })).toMatchObject({ status: 303 });
  });

  it.each([undefined, "", "1.2", `9999999999999.${"0".repeat(64)}`])("are refused: the token %j", async (token) => {
    const { ask, target, fieldsOf, proposalOf } = await deskFixture();
    const { token: _, ...form } = await fieldsOf("s-olga", "propose");
    const forged = { ...form, action: "release", why, ...(token !== undefined && { token }) };
    expect(await ask("s-olga", target, { form: forged })).toMatchObject({ status: 403 });
    expect(await proposalOf()).toBeUndefined();
  });

  it("are refused: an approval again, of one's own proposal, of another one, and after the flow has changed", async () => {
    const { ask, target, fieldsOf, bank, flow, key, revisionOf } = await deskFixture();
    await ask("s-olga", target, { form: { ...(await fieldsOf("s-olga", "propose")), action: "resend", why } });
    const stale = await fieldsOf("s-petra", "approve");
    // Olga's page has no such form. Her other account has it neither.
    for (const session of ["s-olga", "s-olga2"]) {
      const { token = "" } = await fieldsOf(session, "refuse");
      const own = await ask(session, target, { form: { ...stale, token } });
      expect([own.status, own.body]).toEqual([409, expect.stringContaining("Another person must approve")]);
    }
    await flow.refuse(key, { by: "Petra", revision: await revisionOf() });
    await flow.propose(key, "release", { by: "Olga", why, revision: await revisionOf() });
    expect(await ask("s-petra", target, { form: stale })).toMatchObject({ status: 409 });
    const form = await fieldsOf("s-petra", "approve");
    const twice = await Promise.all([ask("s-petra", target, { form }), ask("s-petra", target, { form })]);
    expect(twice.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect(await ask("s-petra", target, { form })).toMatchObject({ status: 409 });
    expect(bank.released).toEqual([key]);
  });

  it("are refused: a decision on another revision than the newest, or on none", async () => {
    const { ask, target, fieldsOf, proposalOf } = await deskFixture();
    const fields = await fieldsOf("s-olga", "propose");
    for (const [revision, status] of [
      ["1", 409],
      ["99", 409],
      ["", 400],
      ["-1", 400],
      ["x", 400],
    ] as const) {
      const form = { ...fields, action: "release", why, revision };
      expect([revision, (await ask("s-olga", target, { form })).status]).toEqual([revision, status]);
    }
    expect(await proposalOf()).toBeUndefined();
  });

  it("come to nothing: markup in keys, memos and grounds", async () => {
    const { ask, target, fieldsOf, memo } = await deskFixture();
    const evil = `"><img src=x onerror=alert(1)>`;
    await ask("s-olga", target, { form: { ...(await fieldsOf("s-olga", "propose")), action: "release", why: evil } });
    const shown = await ask("s-petra", target, { form: await fieldsOf("s-petra", "show") });
    for (const { body } of [await ask("s-petra", "/"), await ask("s-petra", target), shown]) {
      expect(body).not.toContain("<script");
      expect(body).not.toContain("<img");
      expect(body).not.toContain("<b>1</b>");
      expect(body).not.toContain(memo);
    }
    expect(shown.body).toContain("&#60;script&#62;");
  });

  it("come to nothing: paths, methods, keys and queries of any kind", async () => {
    const { ask, errors } = await deskFixture();
    for (const path of [
      "/../../etc/passwd",
      "//evil.test/",
      "/%2e%2e/x?said=%3Cscript%3E",
      "/?said=__proto__",
      "/?said=constructor",
    ]) {
      const { status, body } = await ask("s-olga", path);
      expect([path, status]).toEqual([path, 200]);
      expect(body).not.toMatch(/root:|<script|native code/);
    }
    for (const flow of ["", "none", "%00", "%ff", "%ed%a0%80", "a".repeat(5000)]) {
      expect([400, 404]).toContain((await ask("s-olga", `/?flow=${flow}`)).status);
    }
    for (const method of ["PUT", "DELETE", "OPTIONS", "TRACE"]) {
      expect(await ask("s-olga", "/", { method })).toMatchObject({ status: 405 });
    }
    expect(errors).toEqual([]);
  });

  it("come to nothing: a body of any length, with its length or without", async () => {
    const { ask, target, fieldsOf } = await deskFixture();
    const form = String(new URLSearchParams(await fieldsOf("s-olga", "propose")));
    const long = `${form}&payment=${"a".repeat(300_000)}`;
    expect(await ask("s-olga", target, { form: long })).toMatchObject({ status: 413 });
    const chunked = { "transfer-encoding": "chunked" };
    expect(await ask("s-olga", target, { form: long, headers: chunked })).toMatchObject({ status: 413 });
  });

  it("learn nothing of what failed", async () => {
    const secret = "postgresql://user:secret-4711@db";
    const { flow, ask, target, errors } = await deskFixture();
    Reflect.set(flow, "counts", () => Promise.reject(new Error(secret)));
    const { status, body } = await ask("s-olga", "/");
    expect([status, errors]).toEqual([500, [expect.objectContaining({ message: secret })]]);
    expect(body).not.toContain("secret-4711");
    const broken = await deskFixture({ authenticate: () => ({ name: " " }) });
    expect(await broken.ask("s-olga", target)).toMatchObject({ status: 500 });
  });
});

it.each([
  [{}, "flow must be a PaymentFlow"],
  [{ flow: undefined, authenticate: () => null }, "flow must be a PaymentFlow"],
  [{ authenticate: "olga" }, "authenticate must be a function"],
  [{ origin: "payments.bank.example" }, "origin must be an origin"],
  [{ origin: "https://payments.bank.example/desk" }, "origin must be an origin"],
  [{ csrfSecret: "short-secret" }, "csrfSecret must be a string of 32 characters or more; got a string"],
  [{ user: "olga" }, 'unknown option "user"'],
] as const)("is refused where it is made: %j", async (wrong, message) => {
  const { flow } = await deskFixture();
  const given =
    "flow" in wrong || Object.keys(wrong).length === 0 ? wrong : { flow, authenticate: () => null, ...wrong };
  expect(() => operatorDesk(given as never)).toThrow(message);
});
