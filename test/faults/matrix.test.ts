import { AbortedError, ConnectionError, CrossBorderError, TimeoutError } from "cross-border-payments";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isThorough } from "../support/thorough.js";
import { playAll, playLimitMs } from "./calls.js";
import { accounts } from "./canaries.js";
import { type Fixture, laterId, type Mode, type Observation, openFixture, playCell } from "./cell.js";
import {
  type Expected,
  errorOfStatus,
  expectations,
  type FailureClass,
  isTokenRequest,
  type Kind,
  kinds,
  onceOnly,
} from "./expectations.js";
import { canBeWellBefore, type Fault, faults } from "./faults.js";

interface Cell {
  readonly name: string;
  readonly fault: Fault;
  readonly kind: Kind;
  readonly mode: Mode;
  /** Any of them: where the wire is a race, there are two. */
  readonly expected: readonly Expected[];
}

const cells: readonly Cell[] = faults.flatMap((fault, index) =>
  (fault.always === true ? (["always"] as const) : (["always", "once"] as const)).flatMap((mode) =>
    kindsOf(fault, index, mode).map((kind) => ({
      name: `${fault.name}${mode === "once" ? " (once)" : ""}: ${kind}`,
      fault,
      kind,
      mode,
      expected: classesOf(fault).map((name) => {
        const expected: Expected = expectations[name][kind];
        return mode === "once" ? onceOnly(expected) : expected;
      }),
    })),
  ),
);

const graceMs = 50;
const observations = new Map<string, Observation>();
const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
const printing = (["log", "info", "warn", "error", "debug"] as const).map((method) => vi.spyOn(console, method));
let fixture: Fixture;

beforeAll(async () => {
  process.on("unhandledRejection", onUnhandled);
  fixture = await openFixture();
  await playAll(cells, async ({ name, fault, kind, mode }) => {
    observations.set(name, await playCell(fixture, fault, kind, mode));
  });
}, playLimitMs);

afterAll(async () => {
  process.off("unhandledRejection", onUnhandled);
  await fixture.close();
});

it("has at least 45 faults, each with a name of its own", () => {
  expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
  expect(faults.length).toBeGreaterThanOrEqual(45);
});

it("covers every way to fail in the table of expectations", () => {
  expect(new Set(faults.flatMap(classesOf))).toEqual(new Set(Object.keys(expectations)));
});

it("leaves no rejection unhandled, and prints nothing", () => {
  expect(unhandled).toEqual([]);
  for (const method of printing) expect(method).not.toHaveBeenCalled();
});

it("meets servers that repeat secrets", () => {
  const told = [...observations.values()].filter(({ error }) => {
    const text = String(Reflect.get(Object(Reflect.get(Object(error), "response")), "text"));
    return Object.values(accounts).some((account) => text.includes(account));
  });
  expect(told.length).toBeGreaterThan(20);
});

describe("a call that meets a fault", () => {
  it.each(cells)("$name", async (cell) => {
    const observed = observations.get(cell.name);
    if (observed === undefined) throw new Error("the cell was not played");
    try {
      expectAsTold(cell, observed);
    } catch {
      // Beside all others a cell can be late, or not reach its fault: what it does by itself counts.
      expectAsTold(cell, await playCell(fixture, cell.fault, cell.kind, cell.mode));
    }
  });

  function expectAsTold({ fault, kind, mode, expected }: Cell, observed: Observation): void {
    const allowed = expected.map((one) => ({ ends: endOf(one, fault), effect: one.effect }));
    expect(allowed).toContainEqual(endOfCall(observed));
    expectTries(observed, fault, kind, mode, expected);
    expectTruth(observed, kind);
    expect(observed.leaks).toEqual([]);
    expect(observed.latenessMs).toBeLessThan(graceMs);
  }
});

/** Payments meet faults that stay, one other kind after the other those that pass: `CBP_THOROUGH=1` plays every kind. */
function kindsOf(fault: Fault, index: number, mode: Mode): readonly Kind[] {
  const possible = kinds.filter((kind) => kind !== "refresh" || canBeWellBefore(fault));
  const others = possible.filter((kind) => kind !== "payment");
  if (isThorough) return possible;
  return mode === "always" ? ["payment"] : [others[index % others.length] ?? "read"];
}

function classesOf(fault: Fault): readonly FailureClass[] {
  return typeof fault.is === "string" ? [fault.is] : fault.is;
}

function endOf({ ends, code }: Expected, { status }: Fault): string {
  const name = ends === "by status" ? errorOfStatus(status ?? 0) : ends;
  return code === undefined ? name : `${name} ${code}`;
}

/** The same as the call shows it. The code is compared where the table names one: where there is no response. */
function endOfCall({ error }: Observation): { readonly ends: string; readonly effect: string } {
  if (error === undefined) return { ends: "well", effect: "none" };
  if (!(error instanceof CrossBorderError)) return { ends: `untyped: ${String(error)}`, effect: "" };
  const { name, code, effect } = error;
  return { ends: name === "ConnectionError" || name === "TokenError" ? `${name} ${code}` : name, effect };
}

/** The number of attempts, by the client's count and by the server's. */
function expectTries(observed: Observation, fault: Fault, kind: Kind, mode: Mode, expected: readonly Expected[]): void {
  const { error, seen, connections } = observed;
  const whole = fault.whole !== false;
  const [only, ...others] = expected;
  // Then each attempt is a race of its own: the larger number is the limit.
  if (only === undefined || others.length > 0) {
    expect(seen.length).toBeLessThanOrEqual(mode === "once" ? 1 : 0);
    if (expected.some(({ untilDeadline }) => untilDeadline === true)) return;
    expect(connections).toBeLessThanOrEqual(Math.max(...expected.map(({ tries }) => tries)));
    return;
  }
  const { ends, tries, apartMs, untilDeadline } = only;
  const atService = !isTokenRequest(kind) && fault.phase === undefined && ends !== "well";
  if (atService && error instanceof CrossBorderError) expect(error.attempts).toBe(tries);
  const servedWell = mode === "once" ? tries - 1 : 0;
  if (untilDeadline === true) {
    const tried = whole ? seen.length : connections;
    if (tried !== undefined) expect(tried).toBeGreaterThanOrEqual(tries);
  } else if (fault.phase === undefined) {
    expect(seen).toHaveLength(whole ? tries : servedWell);
  }
  // After a call that was ended undici may open a connection that nothing is sent on.
  const wasEnded = classesOf(fault).some((name) => /^(deadline|abort)/.test(name));
  if (!whole && !wasEnded && untilDeadline !== true && connections !== undefined) expect(connections).toBe(tries);
  if (apartMs === undefined) return;
  const gaps = seen.slice(1).map(({ atMs }, index) => atMs - (seen[index]?.atMs ?? 0));
  // Timers count in whole milliseconds.
  if (whole) expect(Math.min(...gaps)).toBeGreaterThanOrEqual(apartMs - 2);
}

/** Compares what the client says with what the service did. */
function expectTruth({ error, value, service, tokenRequests, laterRead, seen }: Observation, kind: Kind): void {
  const isCreate = kind === "create" || kind === "intent" || kind === "payment";
  const isWrite = isCreate || kind === "update";
  const effect = error instanceof CrossBorderError ? error.effect : "done";
  if (isWrite && effect === "none") expect(service.commits).toHaveLength(0);
  const wasNeverSent =
    error instanceof ConnectionError || error instanceof TimeoutError || error instanceof AbortedError;
  if (isWrite && wasNeverSent) expect(service.bytesReceived).toBe(0);
  if (isWrite && effect === "done") expect(service.commits.length).toBeGreaterThanOrEqual(1);
  if (!isWrite && error instanceof CrossBorderError) expect(effect).toBe("none");
  if (kind === "payment") {
    expect(service.commits.length).toBeLessThanOrEqual(1);
    if (effect === "possible") expect(service.requests.length).toBeLessThanOrEqual(1);
  }
  // A payment that is sent again is the same one, byte for byte.
  const signatures = service.requests.map(({ headers }) => headers.get("x-service-signature-base64"));
  if (isWrite) expect(new Set(service.requests.map(({ body }) => body)).size).toBeLessThanOrEqual(1);
  if (kind === "payment") {
    expect(signatures).not.toContain(undefined);
    expect(new Set(signatures).size).toBeLessThanOrEqual(1);
  }
  if (error === undefined && kind === "update") expect(value).toBeUndefined();
  else if (error === undefined) expect(value).toMatchObject({ id: isCreate ? "made" : "intent-1" });
  if (kind === "read" && error === undefined) expect(laterRead).toMatchObject({ id: laterId });
  if (!isTokenRequest(kind)) expect(tokenRequests.length).toBeLessThanOrEqual(2);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
  expect(seen.map(({ target }) => target)).not.toContain("/elsewhere");
}
