import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { SandboxRequest, SandboxServerOptions } from "../../../src/sandbox/index.js";
import { run } from "../run.js";
import { intent, openProbe, valuesOf } from "./probe-fixture.js";

const quick = ["--patience", "1s"];
const only = (...ids: readonly string[]) => ids.flatMap((id) => ["--only", id]);

describe("what it sends", () => {
  it("only reads without --write", async () => {
    await using fixture = await openProbe();
    const before = fixture.server.sandbox.requests.length;
    const { code, report } = await fixture.probe(quick);
    expect(code).toBe(0);
    const sent = fixture.server.sandbox.requests.slice(before);
    const writes = sent.filter(({ method, path }) => method !== "GET" && !path.includes("/openid-connect/"));
    expect(writes).toEqual([]);
    expect(report.made).toEqual([]);
    expect(report.requests.sent).toBe(sent.length);
  });

  it("sends one request after the other", async () => {
    let [now, most] = [0, 0];
    const hooks: SandboxServerOptions = {
      onRequest: () => {
        now += 1;
        most = Math.max(most, now);
        return undefined;
      },
      onResponse: async (_, response) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        now -= 1;
        return response;
      },
    };
    await using fixture = await openProbe(hooks, 3);
    [now, most] = [0, 0];
    await fixture.probe([...quick, ...only("sort", "bounds", "caches", "errors.400")]);
    expect(most).toBe(1);
  });

  it("holds to its budget, and says which questions it left out", async () => {
    await using fixture = await openProbe();
    const before = fixture.server.sandbox.requests.length;
    const { code, report } = await fixture.probe([...quick, "--budget", "40"]);
    expect(code).toBe(0);
    expect(fixture.server.sandbox.requests.length - before).toBeLessThanOrEqual(40);
    expect(valuesOf(report).latency).toMatch(/^left out: it may take 51 requests, and the budget has \d+ left$/);
  });

  it("tries no login again that was refused, since that could lock the account", async () => {
    let [isSeeded, lists, logins, refused] = [false, 0, 0, 0];
    const onRequest: SandboxServerOptions["onRequest"] = ({ operation, body }) => {
      if (!isSeeded) return undefined;
      if (operation === "payments.list") return lists++ === 0 ? undefined : new Response("{}", { status: 401 });
      if (operation !== "token" || (body.includes("grant_type=password") && logins++ === 0)) return undefined;
      if (body.includes("grant_type=password")) refused += 1;
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    };
    await using fixture = await openProbe({ onRequest }, 0);
    isSeeded = true;
    const { report } = await fixture.probe([...quick, ...only("size.default", "bounds", "sort", "session.rotation")]);
    expect(report.questions.map(({ status }) => status)).toEqual(["failed", "failed", "failed", "failed"]);
    expect(refused).toBe(1);
  });

  it("logs in once at a service that takes no token", async () => {
    let isSeeded = false;
    const onRequest: SandboxServerOptions["onRequest"] = ({ operation }) =>
      isSeeded && operation === "payments.list" ? new Response("{}", { status: 401 }) : undefined;
    await using fixture = await openProbe({ onRequest }, 0);
    const before = fixture.server.sandbox.tokenRequests.length;
    isSeeded = true;
    await fixture.probe([...quick, ...only("size.default", "bounds", "sort", "caches")]);
    expect(fixture.server.sandbox.tokenRequests.slice(before)).toHaveLength(1);
  });

  it("keeps to Retry-After", async () => {
    const times: number[] = [];
    let refused = 0;
    const onRequest = ({ operation }: SandboxRequest) => {
      if (operation !== "payments.list" || times.length === 0) return undefined;
      times.push(performance.now());
      if (refused > 0) return undefined;
      refused += 1;
      return new Response("{}", { status: 429, headers: { "retry-after": "1" } });
    };
    await using fixture = await openProbe({ onRequest }, 3);
    times.push(performance.now());
    const { report } = await fixture.probe(["--patience", "5s", ...only("filters.unknown")]);
    expect(valuesOf(report)["filters.unknown"]).toBe("refused");
    const [, first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(990);
  });

  it("does not wait for longer than --patience", async () => {
    const onRequest = ({ operation, query }: SandboxRequest) =>
      operation === "payments.list" && query.includes("noSuch")
        ? new Response("{}", { status: 429, headers: { "retry-after": "3600" } })
        : undefined;
    await using fixture = await openProbe({ onRequest }, 3);
    const { code, report } = await fixture.probe([...quick, ...only("filters.unknown", "errors.401")]);
    expect(code).toBe(0);
    expect(Object.values(valuesOf(report))).toEqual([
      expect.stringMatching(/^open: the service asks to wait for another 3\d{3} s/),
      expect.stringMatching(/^open: the service asks to wait/),
    ]);
  });
});

describe("with --write", () => {
  it("refuses where nobody can agree, and sends nothing", async () => {
    await using fixture = await openProbe({}, 0);
    const before = fixture.server.sandbox.requests.length;
    const { code, stderr } = await fixture.probe(["--write", "--intent", fixture.file("intent.json")]);
    expect(code).toBe(2);
    expect(stderr).toContain("nobody is there to agree: --yes does");
    expect(fixture.server.sandbox.requests.length).toBe(before);
  });

  it("says how many it makes of what, and asks", async () => {
    await using fixture = await openProbe({}, 0);
    const before = fixture.server.sandbox.requests.length;
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return "no";
    };
    const line = ["--write", "--intent", fixture.file("intent.json"), "--amount", "0.10", ...only("intents.twice")];
    const { code, stderr } = await fixture.probe(line, { ask });
    expect([code, asked.length]).toEqual([130, 1]);
    expect(stderr).toContain(
      "It will make at most 1 intent and 2 payments, of 0.10 EUR each, from alpha-bank to beta-mobile.",
    );
    expect(fixture.server.sandbox.requests.length).toBe(before);
  });

  it("makes no more than it said", async () => {
    await using fixture = await openProbe({ basePath: "/gateway/v1" }, 2);
    const { stderr, report } = await fixture.probe([...quick, ...fixture.writes]);
    const [, intents, payments] = /at most (\d+) intents and (\d+) payments/.exec(stderr) ?? [];
    const { ledger } = fixture.server.sandbox;
    expect(ledger.paymentIntents.length - 2).toBeLessThanOrEqual(Number(intents));
    expect(ledger.payments.length - 2).toBeLessThanOrEqual(Number(payments));
    const named = (kind: string) => report.made.filter((one) => one.kind === kind).map(({ id }) => id);
    expect(named("payment").sort()).toEqual(
      ledger.payments
        .slice(2)
        .map(({ id }) => id)
        .sort(),
    );
    expect(named("intent").sort()).toEqual(
      ledger.paymentIntents
        .slice(2)
        .map(({ id }) => id)
        .sort(),
    );
  });

  it("names what it may have made where the response got lost", async () => {
    let isLosing = false;
    const onResponse = ({ operation }: SandboxRequest) =>
      isLosing && operation === "payments.create" ? Response.error() : undefined;
    await using fixture = await openProbe({ onResponse }, 2);
    isLosing = true;
    const { code, report } = await fixture.probe([...quick, ...fixture.writes, ...only("extras", "intents.twice")]);
    expect(code).toBe(0);
    const stored = fixture.server.sandbox.payments.slice(2).map((one) => one.senderGatewayTransactionId);
    const unknown = report.made.filter(({ state }) => state === "unknown");
    expect(stored.length).toBeGreaterThan(0);
    expect(unknown.map((one) => one.senderGatewayTransactionId)).toEqual(stored);
    expect(Object.values(valuesOf(report)).join()).not.toContain("undefined");
  });

  it("names what it made after Ctrl-C, and exits with 130", async () => {
    const stopped = new Stop();
    let made = -3;
    const onResponse = ({ operation }: SandboxRequest) => {
      if (operation === "payments.create" && ++made === 3) stopped.now();
      return undefined;
    };
    await using fixture = await openProbe({ onResponse }, 3);
    const line = [...quick, ...fixture.writes, ...only("payments.listed"), "--trials", "20", "--budget", "2000"];
    const { code, report } = await fixture.probe(line, { stopped: stopped.wanted });
    expect([code, report.isInterrupted]).toEqual([130, true]);
    const stored = fixture.server.sandbox.payments.slice(3).map((one) => one.senderGatewayTransactionId);
    const payments = report.made.filter(({ kind }) => kind === "payment");
    const named = payments.map((one) => one.senderGatewayTransactionId ?? "");
    expect(named).toEqual(expect.arrayContaining(stored));
    // One may have been on its way.
    const notStored = payments.filter(({ senderGatewayTransactionId: id = "" }) => !stored.includes(id));
    expect(notStored.map(({ state }) => state)).toEqual(notStored.map(() => "unknown"));
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.length).toBeLessThan(24);
    expect(fixture.server.sandbox.requests.at(-1)?.path).toMatch(/\/logout$/);
  });

  it.each(["left out", "lost", "interrupted"])("puts a gateway back as it was: the response %s", async (how) => {
    const stopped = new Stop();
    let updates = 0;
    const onResponse = ({ operation }: SandboxRequest) => {
      if (operation !== "paymentGateways.update" || ++updates > 1) return undefined;
      if (how === "interrupted") stopped.now();
      return how === "lost" ? Response.error() : undefined;
    };
    await using fixture = await openProbe({ onResponse, quirks: { updateClears: true } }, 0);
    const before = fixture.server.sandbox.ledger.paymentGateways;
    const line = [...quick, ...fixture.writes, ...only("updates")];
    const { report } = await fixture.probe(line, { stopped: stopped.wanted });
    expect(updates).toBe(2);
    expect(fixture.server.sandbox.ledger.paymentGateways).toEqual(before);
    expect(report.made).toEqual([expect.objectContaining({ kind: "update", state: "undone" })]);
  });

  it("keeps the process for no timer once it has undone something", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    await using fixture = await openProbe({}, 0);
    const before = timers();
    await fixture.probe([...quick, ...fixture.writes, ...only("updates")]);
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it.each([
    [["--write", "--yes"], 2, "--write needs --intent"],
    [["--amount", "1.00"], 2, "are for --write only"],
    [["--only", "intents.twice"], 2, "it needs --write"],
    [["--only", "nothing"], 2, 'there is no question "nothing"'],
    [["--budget", "0"], 2, "--budget is a number from 1"],
  ])("refuses %j", async (line, code, message) => {
    await using fixture = await openProbe({}, 0);
    const result = await fixture.probe(line);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });
});

describe("what it shows", () => {
  it("shows no secret and no account, in any form", async () => {
    await using fixture = await openProbe({}, 3);
    const { password } = fixture.server.sandbox.credentials;
    const forms = [
      await fixture.probe([...quick, ...fixture.writes, "--out", fixture.file("page.md")]),
      await run(["probe", "--config", fixture.file("config.json"), ...quick], { width: 80 }),
    ];
    const shown = [
      ...forms.map(({ stdout, stderr }) => stdout + stderr),
      readFileSync(fixture.file("page.md"), "utf8"),
    ];
    const key = readFileSync(fixture.file("key.pem"), "utf8");
    for (const text of shown) {
      for (const secret of [
        password,
        key.slice(40, 90),
        "a-token-of-theirs",
        intent.senderAccount,
        intent.receiverAccount,
      ]) {
        expect(text).not.toContain(secret);
      }
      expect(text).not.toMatch(/Bearer |eyJ/);
    }
  });

  it.each<[what: string, secretOf: (request: SandboxRequest) => string | undefined]>([
    ["the access token", ({ headers }) => headers.get("authorization")?.replace("Bearer ", "")],
    ["the password", ({ body }) => new URLSearchParams(body).get("password") ?? undefined],
    ["an account", ({ body }) => (body.startsWith("{") ? JSON.parse(body).senderAccount : undefined)],
  ])("takes no %s for the id of a request, where a service repeats it as that", async (_, secretOf) => {
    const secrets = new Set<string>();
    const onResponse: SandboxServerOptions["onResponse"] = (request, response) => {
      const secret = secretOf(request);
      if (secret !== undefined) secrets.add(secret);
      response.headers.set("x-request-id", `req-${secret ?? "plain"}`);
      return response;
    };
    await using fixture = await openProbe({ onResponse }, 3);
    const { stdout } = await fixture.probe([...quick, ...fixture.writes, ...only("intents.twice", "errors.400")]);
    expect(stdout).toContain('"serviceRequestId": "req-plain"');
    expect(secrets.size).toBeGreaterThan(0);
    for (const secret of secrets) expect(stdout).not.toContain(secret);
  });

  it("writes a page for people", async () => {
    await using fixture = await openProbe();
    const { code } = await fixture.probe([
      ...quick,
      "--out",
      fixture.file("page.md"),
      ...only("bounds", "list.order", "size.default"),
    ]);
    const page = readFileSync(fixture.file("page.md"), "utf8");
    expect(code).toBe(0);
    expect(page).toMatch(
      /\| \*\*bounds\*\* .* \| _after leaves it out, _before leaves it out \| not refuted in 3 trials \| r\d+ to r\d+, /,
    );
    expect(page).toContain("| size.default | open: there are only 12 payments |");
    expect(page).toContain('"trustCursor": false');
  });

  it("overwrites its own page, and no other file", async () => {
    await using fixture = await openProbe({}, 0);
    const probe = (out: string) => fixture.probe([...quick, ...only("errors.401"), "--out", fixture.file(out)]);
    expect([(await probe("page.md")).code, (await probe("page.md")).code]).toEqual([0, 0]);
    const settings = readFileSync(fixture.file("config.json"), "utf8");
    const before = fixture.server.sandbox.requests.length;
    const { code, stderr } = await probe("config.json");
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining("give --out another file") });
    expect(readFileSync(fixture.file("config.json"), "utf8")).toBe(settings);
    expect(fixture.server.sandbox.requests).toHaveLength(before);
  });

  it("shows each answer at a terminal as it comes", async () => {
    await using fixture = await openProbe();
    const line = ["probe", "--config", fixture.file("config.json"), ...quick, ...only("bounds", "errors.400")];
    const { stdout, stderr } = await run(line, { width: 100, showsServiceText: true });
    expect(stdout).toContain("ok    bounds: _after leaves it out, _before leaves it out (3 trials)");
    expect(stdout).toMatch(/\d+ of 600 requests in [\d.]+ s\./);
    expect(stderr).toMatch(/2 of 2: errors\.400; \d+ of 600 requests/);
  });

  it("gives each answer its evidence", async () => {
    await using fixture = await openProbe();
    const { report } = await fixture.probe([...quick, ...only("bounds")]);
    const [question] = report.questions;
    expect(question).toMatchObject({ trials: 3, sure: "not refuted in 3 trials", status: "answered" });
    const [first, last] = question?.requests ?? [];
    const sent = report.evidence.filter(({ id }) => id === first || id === last);
    expect(sent.map(({ at }) => at)).toEqual(question?.times);
    expect(sent[1]).toMatchObject({ method: "GET", status: 200, path: expect.stringContaining("_after=") });
  });
});

describe("--baseline", () => {
  it("exits with 1 where something has changed, and says what", async () => {
    await using before = await openProbe();
    await using after = await openProbe({ quirks: { inclusiveBounds: "after" } });
    const asked = [...quick, ...only("bounds", "sort", "latency")];
    writeFileSync(before.file("earlier.json"), (await before.probe(asked)).stdout);
    const same = await before.probe([...asked, "--baseline", before.file("earlier.json")]);
    const changed = await after.probe([...asked, "--baseline", before.file("earlier.json")]);
    expect([same.code, changed.code]).toEqual([0, 1]);
    expect(JSON.parse(same.stdout).changes).toEqual([]);
    expect(JSON.parse(changed.stdout).changes).toEqual([
      {
        id: "bounds",
        before: "_after leaves it out, _before leaves it out",
        now: "_after includes it, _before leaves it out",
      },
    ]);
  });

  it("counts an answer that is gone as a change", async () => {
    let isFailing = false;
    const onRequest = ({ operation, query }: SandboxRequest) =>
      isFailing && operation === "payments.list" && query.includes("noSuch") ? Response.error() : undefined;
    await using fixture = await openProbe({ onRequest });
    const asked = [...quick, ...only("filters.unknown")];
    writeFileSync(fixture.file("earlier.json"), (await fixture.probe(asked)).stdout);
    isFailing = true;
    const { code, stdout } = await fixture.probe([...asked, "--baseline", fixture.file("earlier.json")]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).changes[0].now).toMatch(/^open: no response came to r\d+/);
  });

  it("refuses a file that is no report", async () => {
    await using fixture = await openProbe({}, 0);
    const { code, stderr } = await fixture.probe(["--baseline", fixture.file("config.json")]);
    expect(code).toBe(3);
    expect(stderr).toContain("is not what probe --json writes");
  });
});

describe("a service that is not as described", () => {
  const page = () => new Response("<html>", { status: 200, headers: { "content-type": "text/html" } });
  it.each([
    ["responds with pages", page],
    ["responds with null", () => new Response("null")],
    [
      "responds with records that are none",
      () => new Response('[1, null, "x", {"id": 7, "createdAt": 5, "pagingToken": {}}]'),
    ],
    ["fails", () => new Response("", { status: 500 })],
    ["breaks connections off", () => Response.error()],
  ])("ends no run: it %s", async (_, respond) => {
    let isOdd = false;
    const onRequest = ({ operation }: SandboxRequest) => (isOdd && operation !== "token" ? respond() : undefined);
    await using fixture = await openProbe({ onRequest }, 1);
    isOdd = true;
    const { code, report } = await fixture.probe([...quick, ...fixture.writes]);
    expect(code).toBe(0);
    expect(report.questions.filter(({ status }) => status === "failed")).toEqual([]);
    expect(report.questions.length).toBeGreaterThan(30);
  });

  it("fails where nobody can log in", async () => {
    await using fixture = await openProbe({}, 0);
    const config = JSON.parse(readFileSync(fixture.file("config.json"), "utf8"));
    writeFileSync(fixture.file("config.json"), JSON.stringify({ ...config, password: "wrong" }));
    const { code, stderr } = await fixture.probe(quick);
    expect(code).toBe(3);
    expect(stderr).toContain("Login failed");
  });
});

/** Stands for Ctrl-C. */
class Stop {
  now = (): void => {};
  readonly wanted = new Promise<void>((resolve) => {
    this.now = resolve;
  });
}
