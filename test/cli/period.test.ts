import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { environmentOf } from "../support/environment.js";
import { registeredClient, requestOf } from "./gateway-fixture.js";
import { recordsIn, run } from "./run.js";

let nowMs = Date.parse("2026-03-01T00:00:00Z");
let server: SandboxServer;
let payments: Payment[];
let env: Record<string, string>;

/** A payment an hour, from midnight of 1 March on; it is 10 o'clock of 3 March then. */
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-03T10:00:00Z") });
  server = await startSandbox({ now: () => nowMs, tokenLifetimeSeconds: 1_000_000 });
  await using client = await registeredClient(server);
  for (let hour = 0; hour <= 57; hour += 1) {
    const request = requestOf(`${hour % 3}.50`, `${hour}`);
    await client.pay(request, () => ({ senderGatewayTransactionId: `TX-${hour}` }));
    nowMs += 3_600_000;
  }
  payments = await client.payments.list().toArray({ max: 1000 });
  env = environmentOf(server.clientOptions);
});
afterAll(async () => {
  vi.useRealTimers();
  await server.close();
});

const list = (...line: readonly string[]) => run(["payments", "list", ...line], { env });

async function memosOf(...line: readonly string[]): Promise<number[]> {
  const { code, stdout, stderr } = await list(...line);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return recordsIn(stdout).map(({ memo }) => Number(memo));
}

const downFrom = (last: number, first: number) => Array.from({ length: last - first + 1 }, (_, index) => last - index);

it("lists yesterday's payments in one command, as the service has them, the newest first", async () => {
  const { stdout } = await list("--from", "yesterday", "--to", "today");
  expect(recordsIn(stdout)).toEqual(payments.slice(24, 48).reverse());
});

it.each<[line: string, last: number, first: number]>([
  ["--from 2026-03-02", 57, 24],
  ["--from today", 57, 48],
  ["--from 2026-03-01T23:00:00Z --to 2026-03-02T01:00:00Z", 24, 23],
  ["--from 2026-03-02T00:00:00+03:00 --to 2026-03-03T00:00:00+03:00", 44, 21],
  ["--from 2026-03-02T00:00:00.001Z --to 2026-03-02T02:00:00.001Z", 26, 25],
  ["--from 2020-01-01 --to 2030-01-01", 57, 0],
])("begins and ends in time: %s", async (line, last, first) => {
  expect(await memosOf(...line.split(" "), "--size", "20")).toEqual(downFrom(last, first));
});

it("can be filtered, cut, and written in every format", async () => {
  const day = ["--from", "2026-03-02", "--to", "2026-03-03"];
  const third = downFrom(47, 24).filter((hour) => hour % 3 === 0);
  expect(await memosOf(...day, "--filter", "receiverAmount=0.5")).toEqual(third);
  expect(await memosOf(...day, "--filter", "receiverAmount=0.5", "--limit", "3")).toEqual(third.slice(0, 3));
  const before = server.sandbox.requests.length;
  expect(await memosOf("--from", "2020-01-01", "--size", "20", "--limit", "20")).toEqual(downFrom(57, 38));
  const asked = server.sandbox.requests.slice(before).filter(({ operation }) => operation === "payments.list");
  expect(asked).toHaveLength(1);
  const { stdout: csv } = await list(...day, "--fields", "memo", "--format", "csv");
  expect(csv).toBe(`memo\r\n${downFrom(47, 24).join("\r\n")}\r\n`);
});

it("is of payments alone: other records have no time of creation", async () => {
  const { code, stderr } = await run(["payment-gateways", "list", "--from", "today"], { env });
  expect([code, stderr]).toEqual([2, expect.stringContaining("unknown option '--from'")]);
});
