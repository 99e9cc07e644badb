import { describe, expect, it } from "vitest";
import type { Effect } from "../../src/errors/errors.js";
import {
  classifyBroken,
  classifyFailure,
  classifyStatus,
  type Decision,
  decisions,
  type FailureClass,
  type OperationKind,
  operationKind,
  worseEffect,
} from "../../src/http/decision.js";
import { Ended, type EndKind } from "../../src/timing/deadline.js";
import { WireFailure } from "../../src/wire/wire-failure.js";

const kinds: readonly OperationKind[] = ["read", "update", "create"];

type Cell = `${Decision["reaction"]} ${Effect}`;
type Row = readonly [what: string, failure: FailureClass | undefined, read: Cell, update: Cell, create: Cell];

const wire = (sent: boolean, permanent = false) => classifyFailure(new WireFailure({ sent, permanent, reason: "X" }));
const ended = (kind: EndKind, sent: boolean) => classifyFailure(new Ended(kind, sent));

const rows: readonly Row[] = [
  ["never sent, transient", wire(false), "retry none", "retry none", "retry none"],
  ["never sent, permanent", wire(false, true), "fail none", "fail none", "fail none"],
  ["reset after it may have been sent", wire(true), "retry none", "retry possible", "fail possible"],
  ["deadline after it may have been sent", ended("timeout", true), "fail none", "fail possible", "fail possible"],
  ["deadline before it was sent", ended("timeout", false), "fail none", "fail none", "fail none"],
  ["abort after it may have been sent", ended("abort", true), "fail none", "fail possible", "fail possible"],
  ["abort before it was sent", ended("abort", false), "fail none", "fail none", "fail none"],
  ["401", classifyStatus(401), "renew-token none", "renew-token none", "renew-token none"],
  ...[400, 402, 403, 404, 405, 406, 410, 413, 415, 422, 451, 499].map(
    (status): Row => [`${status}`, classifyStatus(status), "fail none", "fail none", "fail none"],
  ),
  ["409", classifyStatus(409), "fail none", "fail possible", "fail possible"],
  ...[408, 500, 501, 502, 503, 504, 599].map(
    (status): Row => [`${status}`, classifyStatus(status), "retry none", "retry possible", "fail possible"],
  ),
  ["429", classifyStatus(429), "retry none", "retry none", "retry none"],
  ...[300, 301, 302, 304, 307, 308, 399].map(
    (status): Row => [`${status}`, classifyStatus(status), "fail none", "fail possible", "fail possible"],
  ),
  ["303", classifyStatus(303), "fail none", "fail done", "fail done"],
  ["2xx that broke off", classifyBroken("cut-short"), "retry none", "fail done", "fail done"],
  ["2xx over the size cap", classifyBroken("too-large"), "fail none", "fail done", "fail done"],
  ["2xx that is not UTF-8", classifyBroken("not-utf8"), "retry none", "fail done", "fail done"],
  ["2xx that is compressed", classifyBroken("encoded"), "retry none", "fail done", "fail done"],
  ["2xx still coming at the deadline", classifyBroken("timeout"), "fail none", "fail done", "fail done"],
  ["2xx still coming at the abort", classifyBroken("abort"), "fail none", "fail done", "fail done"],
  ["2xx that is not what is described", "unreadable", "retry none", "fail done", "fail done"],
];

describe("decisions", () => {
  it.each(rows)("%s", (_, failure, read, update, create) => {
    expect(failure).toBeDefined();
    if (failure === undefined) return;
    const cells = kinds.map((kind) => `${decisions[failure][kind].reaction} ${decisions[failure][kind].effect}`);
    expect(cells).toEqual([read, update, create]);
  });

  it("has a row in the tests for every class", () => {
    expect(new Set(rows.map(([, failure]) => failure))).toEqual(new Set(Object.keys(decisions)));
  });

  it("repeats a create only where nothing was done", () => {
    for (const { create } of Object.values(decisions)) {
      if (create.reaction !== "fail") expect(create.effect).toBe("none");
    }
  });

  it("never says that a read did anything", () => {
    for (const { read } of Object.values(decisions)) expect(read.effect).toBe("none");
  });
});

describe("classifyStatus", () => {
  it("gives every status from 200 to 999 a class, and 2xx none", () => {
    const ranges = new Map<string, number[]>();
    for (let status = 200; status <= 999; status++) {
      const name = classifyStatus(status) ?? "success";
      ranges.set(name, [...(ranges.get(name) ?? []), status]);
    }
    const from = (start: number, end: number, ...without: number[]) =>
      Array.from({ length: end - start + 1 }, (_, index) => start + index).filter(
        (status) => !without.includes(status),
      );
    expect(Object.fromEntries(ranges)).toEqual({
      success: from(200, 299),
      redirect: from(300, 399, 303),
      "see-other": [303],
      unauthorized: [401],
      refused: from(400, 499, 401, 408, 409, 429),
      conflict: [409],
      throttled: [429],
      "server-error": [408, ...from(500, 999)],
    });
  });

  it.each([0, 100, 199])("takes a status of %i as proof of nothing", (status) => {
    expect(classifyStatus(status)).toBe("server-error");
  });
});

it("knows what a method may do", () => {
  expect([operationKind("GET"), operationKind("PUT"), operationKind("POST")]).toEqual(["read", "update", "create"]);
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
