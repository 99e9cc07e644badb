import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { fits } from "../../src/cli/lists/list.js";
import type { Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { originInTest } from "../support/origin-of.js";
import { environmentOf, registeredClient, requestOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const hourMs = 3_600_000;
const todayMs = Date.parse("2026-03-03T10:00:00Z");
let nowMs = Date.parse("2026-03-01T00:00:00Z");
let server: SandboxServer;
let payments: Payment[];
let env: Record<string, string>;

/** A payment an hour, from midnight of 1 March on; it is 10 o'clock of 3 March then. */
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: todayMs });
  server = await startSandbox({ now: () => nowMs, tokenLifetimeSeconds: 1_000_000 });
  await using client = await registeredClient(server);
  for (let hour = 0; hour <= 57; hour += 1) {
    const request = requestOf(`${hour % 3}.50`, `${hour}`);
    await client.pay(request, () => ({ senderGatewayTransactionId: `TX-${hour}` }));
    nowMs += hourMs;
  }
  payments = await client.payments.list().toArray({ max: 1000 });
  env = environmentOf(server);
});
afterAll(async () => {
  vi.useRealTimers();
  await server.close();
});

const list = (...line: readonly string[]) => run(["payments", "list", ...line], { env });

async function memosOf(...line: readonly string[]): Promise<number[]> {
  const { code, stdout, stderr } = await list(...line);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((text) => Number((JSON.parse(text) as Payment).memo));
}

const downFrom = (last: number, first: number) => Array.from({ length: last - first + 1 }, (_, index) => last - index);

describe("the payments of a period", () => {
  it("are yesterday's in one command, as the service has them, the newest first", async () => {
    const { code, stdout } = await list("--from", "yesterday", "--to", "today");
    const wanted = payments.filter(({ createdAt }) => createdAt.startsWith("2026-03-02T")).reverse();
    expect(wanted).toHaveLength(24);
    expect({ code, stdout }).toEqual({ code: 0, stdout: wanted.map((one) => `${JSON.stringify(one)}\n`).join("") });
  });

  it.each<[from: string, to: string | undefined, last: number, first: number]>([
    ["2026-03-02", "2026-03-03", 47, 24],
    ["2026-03-02", undefined, 57, 24],
    ["today", undefined, 57, 48],
    ["2026-03-01T23:00:00Z", "2026-03-02T01:00:00Z", 24, 23],
    ["2026-03-02T00:00:00+03:00", "2026-03-03T00:00:00+03:00", 44, 21],
    ["2026-03-02T00:00:00.001Z", "2026-03-02T02:00:00.001Z", 26, 25],
    ["2020-01-01", "2030-01-01", 57, 0],
  ])("begin at %s, and end before %s", async (from, to, last, first) => {
    const line = ["--from", from, ...(to === undefined ? [] : ["--to", to])];
    for (const size of ["20", "100"]) {
      expect(await memosOf(...line, "--size", size)).toEqual(downFrom(last, first));
    }
    // Fewer show no order: then the whole list is read, in that of its tokens.
    const inSomeOrder = await memosOf(...line, "--size", "3");
    expect(inSomeOrder.sort((one, other) => other - one)).toEqual(downFrom(last, first));
  });

  it("can be filtered, cut and written in every format", async () => {
    const day = ["--from", "2026-03-02", "--to", "2026-03-03"];
    const third = downFrom(47, 24).filter((hour) => hour % 3 === 0);
    expect(await memosOf(...day, "--filter", "receiverAmount=0.5")).toEqual(third);
    expect(await memosOf(...day, "--filter", "receiverAmount=0.5", "--limit", "3")).toEqual(third.slice(0, 3));
    expect((await list(...day, "--filter", "memo=0", "--format", "csv")).stdout).toBe("");
    const before = server.sandbox.requests.length;
    expect(await memosOf("--from", "2020-01-01", "--size", "20", "--limit", "20")).toEqual(downFrom(57, 38));
    const asked = server.sandbox.requests.slice(before).filter(({ operation }) => operation === "payments.list");
    expect(asked).toHaveLength(1);
    expect(await memosOf("--from", "2020-01-01", "--size", "20", "--limit", "25")).toEqual(downFrom(57, 33));
    const { stdout: csv } = await list(...day, "--fields", "memo", "--format", "csv");
    expect(csv).toBe(`memo\r\n${downFrom(47, 24).join("\r\n")}\r\n`);
    const { stdout: table } = await run(["payments", "list", ...day, "--limit", "2"], { env, width: 200 });
    expect(table.split("\n")).toHaveLength(4);
  });

  it("are an error if the service ignores cursors", async () => {
    const lying = createServer(async ({ url = "", headers }, response) => {
      const { authorization = "" } = headers;
      const query = url.replaceAll(/&?_(?:after|before)=[^&]*/g, "").replace(/_size=\d+/, "_size=10");
      const listed = await fetch(`${server.url}${query}`, { headers: { authorization } });
      response.writeHead(listed.status, { "content-type": "application/json" }).end(await listed.text());
    });
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    const baseUrl = await originInTest(lying);
    const { code, stderr } = await list("--from", "2026-03-01", "--size", "10", "--base-url", baseUrl);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining("payments.list"),
    });
  });

  it("are no other records: those have no time of creation", async () => {
    const { code, stderr } = await run(["payment-gateways", "list", "--from", "today"], { env });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("unknown option '--from'") });
  });
});

it("compares filters as the service does: amounts by their value, all else by its text", () => {
  const record = { receiverAmount: "7.50", memo: "7.50", feeIncluded: true };
  expect(fits(record, {})).toBe(true);
  expect(fits(record, { receiverAmount: "7.5", feeIncluded: "true" })).toBe(true);
  expect(fits(record, { memo: "7.5" })).toBe(false);
  expect(fits(record, { receiverAmount: "7.5", memo: "other" })).toBe(false);
  expect(fits({}, { receiverAmount: "7.5" })).toBe(false);
});
