import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";

/** What a start of the built client costs, beside bare undici. Compares the least of some rounds, since other programs use the machine, too. */
const rounds = 10;

/** How long the service thinks. On loopback it would take no time at all. */
const serviceMs = 20;

const intent = {
  id: "7",
  senderGatewayId: "alpha-bank",
  senderCurrency: "EUR",
  senderAmount: "104.17",
  senderAccount: "DE-0001",
  senderName: "Signe Tamm",
  receiverGatewayId: "beta-mobile",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  receiverAccount: "KE-7002",
  receiverName: "Otieno Odhiambo",
  receivingGatewayFee: "25.00",
  memo: "fees",
  extras: null,
};

interface Start {
  readonly importCpuMs: number;
  readonly firstCallCpuMs: number;
  readonly callMs: number;
}

const found: Record<"client" | "undici", { atOnce: Start[]; later: Start[] }> = {
  client: { atOnce: [], later: [] },
  undici: { atOnce: [], later: [] },
};

beforeAll(async () => {
  const server = createServer(async (_, response) => {
    await sleep(serviceMs);
    response.setHeader("content-type", "application/json").end(JSON.stringify(intent));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const start = async (who: string, waitMs: number): Promise<Start> => {
    const line = [fileURLToPath(new URL("start.mjs", import.meta.url)), who, origin, String(waitMs)];
    return JSON.parse((await promisify(execFile)(process.execPath, line)).stdout) as Start;
  };
  for (let round = 0; round < rounds; round++) {
    for (const who of ["undici", "client"] as const) {
      found[who].atOnce.push(await start(who, 0));
      found[who].later.push(await start(who, 1000));
    }
  }
  server.close();
});

it.each([
  ["the CPU of an import", 0.3, "atOnce", "importCpuMs"],
  ["the CPU up to the first response", 2, "atOnce", "firstCallCpuMs"],
  ["the time of a call one second after the client was made", 1.1, "later", "callMs"],
] as const)("keeps %s within %f × undici's own", (_, limit, when, figure) => {
  const least = (starts: readonly Start[]) => Math.min(...starts.map((start) => start[figure]));
  const [client, undici] = [least(found.client[when]), least(found.undici[when])];
  expect(client / undici, `${client.toFixed(1)} ms, undici ${undici.toFixed(1)} ms`).toBeLessThanOrEqual(limit);
});
