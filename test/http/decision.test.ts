import { describe, expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import {
  classifyBroken,
  classifyResponse,
  decisions,
  type FailureClass,
  operationKind,
  worseEffect,
} from "../../src/http/decision.js";
import { parseRawRequest } from "../../src/http/prepare.js";
import { catalogue } from "../../src/resources/catalogue.js";
import { passingRefusals, provingNothing } from "./statuses.js";

const ownError = JSON.stringify({ error: "limit", message: "Too much" });
const classOf = (status: number, text: string, type = "application/json; charset=utf-8") =>
  classifyResponse({ status, headers: { "content-type": type }, text });

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

  it("says the same of every create, and never that a read did anything", () => {
    for (const { create, signed, repeatable, read } of Object.values(decisions)) {
      expect([signed.effect, repeatable.effect, read.effect]).toEqual([create.effect, create.effect, "none"]);
    }
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

  it("gives every status from 200 to 999 a class, 2xx none, and a 4xx by whose error it is", () => {
    const always = {
      success: from(200, 299),
      redirect: from(300, 399),
      unauthorized: [401],
      "server-error": [...passingRefusals, ...from(500, 999)],
    };
    expect(rangesOf(ownError)).toEqual({
      ...always,
      refused: from(400, 499, 401, 429, ...passingRefusals, ...provingNothing),
      "refused-by-another": [...provingNothing],
      throttled: [429],
    });
    expect(rangesOf("{}")).toEqual({
      ...always,
      "refused-by-another": from(400, 499, 401, 429, ...passingRefusals),
      "throttled-by-another": [429],
    });
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
    "{}",
    "<html>no</html>",
    '{"message":"no"}',
    '{"error":"E1"}',
    '{"error":1,"message":"no"}',
    '{"error":"E1","message":null}',
    '{"error":"E1","message":[{"field":"amount"}]}',
    '{"error":{"code":"E1","message":"no"}}',
    '[{"error":"E1","message":"no"}]',
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
});

it.each<[Parameters<typeof classifyBroken>[0], FailureClass]>([
  ["too-large", "oversized"],
  ["timeout", "ended-reading"],
  ["abort", "ended-reading"],
  ["cut-short", "broken-off"],
  ["not-utf8", "unreadable"],
  ["encoded", "unreadable"],
])("classifies a 2xx whose body is broken by %s as %s", (broken, expected) => {
  expect(classifyBroken(broken)).toBe(expected);
});

describe("operationKind", () => {
  it.each([
    [{ method: "GET" }, "read"],
    [{ method: "POST", idempotent: true }, "update"],
    [{ method: "POST" }, "signed"],
  ] as const)("takes the raw request %j for %s", (request, expected) => {
    const { operation } = parseRawRequest({ path: "/refunds", ...request });
    expect(operationKind(operation, false)).toBe(expected);
  });

  it("takes the intents alone for repeatable", () => {
    const rows = catalogue.flatMap((resource) => Object.values<Operation>(resource));
    const repeatable = rows.filter((row) => operationKind(row, row.signed) === "repeatable");
    expect(repeatable.map(({ name }) => name)).toEqual(["paymentIntents.create"]);
  });
});

it.each([
  ["none", "possible", "possible"],
  ["possible", "none", "possible"],
  ["possible", "done", "done"],
  ["done", "none", "done"],
] as const)("keeps the effect of the attempts %s and %s: %s", (one, other, expected) => {
  expect(worseEffect(one, other)).toBe(expected);
});
