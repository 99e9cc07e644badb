import { describe, expect, it } from "vitest";
import type { CallMethod, Operation } from "../../src/api/operation.js";
import { Ended, type EndKind } from "../../src/core/deadline.js";
import type { Effect } from "../../src/core/errors.js";
import {
  classifyBroken,
  classifyFailure,
  classifyResponse,
  decisions,
  errorMessageOf,
  type FailureClass,
  operationKind,
  worseEffect,
} from "../../src/http/decision.js";
import { catalogue } from "../../src/resources/catalogue.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { WireFailure } from "../../src/wire/transport.js";
import { passingRefusals, provingNothing } from "./statuses.js";

const wire = (sent: boolean, permanent = false, reason = "X") =>
  classifyFailure(new WireFailure({ sent, permanent, reason }));
const ended = (kind: EndKind, sent: boolean) => classifyFailure(new Ended(kind, sent));
const ownError = JSON.stringify({ error: "limit", message: "Too much" });
const classOf = (status: number, text: string, type = "application/json; charset=utf-8") =>
  classifyResponse({ status, headers: { "content-type": type }, text });
const own = (status: number) => classOf(status, ownError);

describe("decisions", () => {
  it.each<[login: string, refresh: string, FailureClass[]]>([
    ["retry none", "retry none", ["unsent", "ended-unsent", "throttled", "throttled-by-another"]],
    ["retry none", "retry possible", ["maybe-sent", "ended", "server-error", "broken-off", "ended-reading"]],
    ["fail none", "renew-token none", ["unauthorized", "refused", "refused-by-another"]],
    ["fail none", "fail none", ["unknown-host", "unsent-for-good", "redirect"]],
    ["fail none", "fail possible", ["oversized", "unreadable"]],
  ])("has %s for a login and %s for a refresh: %j", (login, refresh, classes) => {
    for (const failure of classes) {
      const cells = (["login", "refresh"] as const).map((grant) => decisions[failure][grant]);
      expect(cells.map(({ reaction, effect }) => `${reaction} ${effect}`)).toEqual([login, refresh]);
    }
  });

  it("knows why a request was not sent, and if it may have been", () => {
    expect([wire(false), wire(true), wire(false, true), wire(true, true)]).toEqual([
      "unsent",
      "maybe-sent",
      "unsent-for-good",
      "maybe-sent",
    ]);
    expect([wire(false, false, "ENOTFOUND"), wire(true, false, "ENOTFOUND")]).toEqual(["unknown-host", "maybe-sent"]);
    for (const kind of ["timeout", "abort"] as const) {
      expect([ended(kind, false), ended(kind, true)]).toEqual(["ended-unsent", "ended"]);
    }
  });

  it("sends what moves money again only where nothing was done", () => {
    for (const { signed } of Object.values(decisions)) {
      if (signed.reaction !== "fail") expect(signed.effect).toBe("none");
    }
  });

  it("sends another create again only where nothing was done, or somebody asked for a wait", () => {
    const others = Object.entries(decisions).filter(([, { create }]) => create.reaction !== "fail");
    for (const [name, { create }] of others) {
      expect(create.effect).toBe(name === "throttled-by-another" ? "possible" : "none");
    }
  });

  it("says the same of a create, whether it is signed or not", () => {
    for (const { create, signed, repeatable } of Object.values(decisions)) {
      expect([signed.effect, repeatable.effect]).toEqual([create.effect, create.effect]);
    }
  });

  it("never says that a read did anything", () => {
    for (const { read } of Object.values(decisions)) expect(read.effect).toBe("none");
  });
});

describe("classifyResponse", () => {
  const rangesOf = (text: string) => {
    const ranges = new Map<string, number[]>();
    for (let status = 200; status <= 999; status++) {
      const name = classOf(status, text) ?? "success";
      ranges.set(name, [...(ranges.get(name) ?? []), status]);
    }
    return Object.fromEntries(ranges);
  };
  const from = (start: number, end: number, ...without: number[]) =>
    Array.from({ length: end - start + 1 }, (_, index) => start + index).filter((status) => !without.includes(status));

  it("gives every status from 200 to 999 a class, and 2xx none", () => {
    expect(rangesOf(ownError)).toEqual({
      success: from(200, 299),
      redirect: from(300, 399),
      unauthorized: [401],
      refused: from(400, 499, 401, 429, ...passingRefusals, ...provingNothing),
      "refused-by-another": [...provingNothing],
      throttled: [429],
      "server-error": [...passingRefusals, ...from(500, 999)],
    });
  });

  it("takes a 4xx without the service's own error for somebody else's", () => {
    expect(rangesOf("{}")).toEqual({
      success: from(200, 299),
      redirect: from(300, 399),
      unauthorized: [401],
      "refused-by-another": from(400, 499, 401, 429, ...passingRefusals),
      "throttled-by-another": [429],
      "server-error": [...passingRefusals, ...from(500, 999)],
    });
  });

  it.each([0, 100, 199])("takes a status of %i as proof of nothing", (status) => {
    expect(classOf(status, ownError)).toBe("server-error");
  });

  it.each([
    { error: "E1", message: "no" },
    { code: "E1", message: "no" },
    { error: 1, code: "E1", message: "no", status: 400 },
    { error: "", message: "" },
    { error: "Bad Request", message: "ung\u00fcltig", extras: null },
    { statusCode: 400, message: ["amount must be a string", "memo is too long"], error: "Bad Request" },
    { code: "E1", message: [] },
  ])("takes %j for the service's own error", (body) => {
    expect(classOf(400, JSON.stringify(body))).toBe("refused");
  });

  it.each([
    "",
    "null",
    "[]",
    '"no"',
    "{}",
    "<html>no</html>",
    '{"message":"no"}',
    '{"error":"E1"}',
    '{"error":1,"message":"no"}',
    '{"error":"E1","message":1}',
    '{"error":"E1","message":null}',
    '{"error":"E1","message":[{"field":"amount"}]}',
    '{"statusCode":400,"message":["no"]}',
    '{"title":"no","detail":"no","status":400}',
    '{"error":{"code":"E1","message":"no"}}',
    '[{"error":"E1","message":"no"}]',
    '{"errors":[{"error":"E1","message":"no"}]}',
    '{"__proto__":{"error":"E1","message":"no"}}',
    '{"error":"E1","message":"no"',
    '{"error":"E1","message":"no"}<html>',
  ])("takes %.60s for somebody else's", (text) => {
    expect(classOf(400, text)).toBe("refused-by-another");
  });

  const problem = JSON.stringify({ type: "about:blank", title: "Bad Request", status: 400 });

  it.each<[string, string, FailureClass]>([
    ["application/problem+json", problem, "refused"],
    ["Application/Problem+JSON ; charset=utf-8", "{}", "refused"],
    ["application/problem+json", "", "refused-by-another"],
    ["application/problem+json", "[]", "refused-by-another"],
    ["application/problem+xml", problem, "refused-by-another"],
    ["text/html, application/problem+json", problem, "refused-by-another"],
  ])("takes %s with the body %j for %s", (type, text, expected) => {
    expect(classOf(400, text, type)).toBe(expected);
  });

  it.each([
    ["an array of messages", JSON.stringify({ statusCode: 0, message: ["no"], error: "No" }), "application/json"],
    ["a problem", problem, "application/problem+json"],
  ])("reads %s as it reads any error of the service's own", (_, text, type) => {
    for (let status = 200; status <= 999; status++) {
      expect([status, classOf(status, text, type)]).toEqual([status, own(status)]);
    }
  });
});

describe("errorMessageOf", () => {
  it.each([
    ['{"error":"E1","message":"no"}', "no"],
    ['{"error":"E1","message":["no","never"]}', "no; never"],
    ['{"title":"Bad Request","detail":"no"}', "no"],
    ['{"title":"Bad Request"}', "Bad Request"],
    ['{"message":7}', undefined],
    ["<html>", undefined],
  ])("finds in %s %s", (text, message) => {
    expect(errorMessageOf(text)).toBe(message);
  });
});

describe("classifyBroken", () => {
  it("tells a body that broke off from one that came whole and can't be read", () => {
    const broken = ["cut-short", "too-large", "not-utf8", "encoded", "timeout", "abort"] as const;
    expect(Object.fromEntries(broken.map((one) => [one, classifyBroken(one)]))).toEqual({
      "cut-short": "broken-off",
      "too-large": "oversized",
      "not-utf8": "unreadable",
      encoded: "unreadable",
      timeout: "ended-reading",
      abort: "ended-reading",
    });
  });
});

describe("operationKind", () => {
  it("follows from the row, and from whether the call is signed", () => {
    const kindsOf = (operation: Operation) => [operationKind(operation, false), operationKind(operation, true)];
    expect(kindsOf(liquidityProviders.get)).toEqual(["read", "read"]);
    expect(kindsOf(liquidityProviders.list)).toEqual(["read", "read"]);
    expect(kindsOf(liquidityProviders.update)).toEqual(["update", "update"]);
    expect(kindsOf(liquidityProviders.create)).toEqual(["create", "signed"]);
    expect(kindsOf(paymentIntents.create)).toEqual(["repeatable", "repeatable"]);
  });

  it("takes any raw request that writes for one that moves money, unless it is idempotent", () => {
    const raw = { name: "", verb: "request", path: liquidityProviders.list.path } as const;
    const kindOf = (method: CallMethod, idempotent: boolean) => operationKind({ ...raw, method, idempotent }, false);
    for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
      expect([kindOf(method, false), kindOf(method, true)]).toEqual(["signed", "update"]);
    }
    expect(kindOf("GET", false)).toBe("read");
  });

  it("takes the intents alone for repeatable", () => {
    const rows = catalogue.flatMap((resource) => Object.values<Operation>(resource));
    const repeatable = rows.filter((row) => operationKind(row, row.signed) === "repeatable");
    expect(repeatable.map(({ name }) => name)).toEqual(["paymentIntents.create"]);
  });
});

describe("worseEffect", () => {
  it("keeps what earlier attempts may have done", () => {
    const effects: Effect[] = ["none", "possible", "done"];
    const table = effects.map((one) => effects.map((other) => worseEffect(one, other)));
    expect(table).toEqual([
      ["none", "possible", "done"],
      ["possible", "possible", "done"],
      ["done", "done", "done"],
    ]);
  });
});
