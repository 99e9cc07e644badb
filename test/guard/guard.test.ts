import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";

/** The CPU time of a start of the built client, beside bare undici's. Compares the least of some rounds, since other programs use the machine, too. */
const rounds = 10;

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
  readonly importMs: number;
  readonly firstCallMs: number;
}

const found: Record<"client" | "undici", Start[]> = { client: [], undici: [] };

beforeAll(async () => {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify(intent));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const program = fileURLToPath(new URL("start.mjs", import.meta.url));
  for (let round = 0; round < rounds; round++) {
    for (const who of ["undici", "client"] as const) {
      const { stdout } = await promisify(execFile)(process.execPath, [program, who, origin]);
      found[who].push(JSON.parse(stdout) as Start);
    }
  }
  server.close();
});

it.each([
  ["an import", 0.3, "importMs"],
  ["everything up to the first response", 2, "firstCallMs"],
] as const)("takes for %s at most %f × the CPU time of bare undici", (_, limit, figure) => {
  const [client, undici] = [found.client, found.undici].map((starts) =>
    Math.min(...starts.map((start) => start[figure])),
  );
  expect(client).toBeLessThanOrEqual(limit * Number(undici));
});
