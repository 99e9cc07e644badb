import { createServer } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CrossBorderClient } from "../../src/index.js";
import { openProxyDispatcher, proxyFor, readProxy } from "../../src/settings/connection.js";
import { originOf } from "../support/origin-of.js";

const asked: string[] = [];
/** Refuses whatever it is asked for. */
const proxy = createServer().on("connect", ({ url = "" }, socket) => {
  asked.push(url);
  socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
});
let address: string;
beforeAll(async () => {
  address = await originOf(proxy);
});
afterAll(() => void proxy.close());

const [name, ipv4, ipv6] = ["https://service.bank.invalid", "https://127.0.0.1:9", "https://[::1]:9"];

type Row = readonly [noProxy: string, url: string, way: "proxy" | "direct"];
const rows: readonly Row[] = [
  ["", name, "proxy"],
  ["*", name, "direct"],
  ["service.bank.invalid", name, "direct"],
  ["SERVICE.bank.invalid", name, "direct"],
  ["bank.invalid", name, "direct"],
  [".bank.invalid", name, "direct"],
  ["*.bank.invalid:443,other", name, "direct"],
  ["nk.invalid", name, "proxy"],
  ["service", name, "proxy"],
  ["service.bank.invalid:444", name, "proxy"],
  ["127.0.0.1", ipv4, "direct"],
  ["127.0.0.1:9", ipv4, "direct"],
  ["127.0.0.1:10", ipv4, "proxy"],
  ["0.0.1", ipv4, "direct"],
  ["[::1]", ipv6, "direct"],
  ["[::1]:9", ipv6, "direct"],
  ["[::1]:10", ipv6, "proxy"],
  ["127.0.0.0/8, ::1/128", ipv4, "proxy"],
  ["127.0.*,http://127.0.0.1", ipv4, "proxy"],
];

const cases = rows.map(([noProxy, url, way]) => ({ noProxy, url, way }));

it.each(cases)("with NO_PROXY=$noProxy goes to $url by: $way", async ({ noProxy, url, way }) => {
  const rules = readProxy({}, { HTTPS_PROXY: address, NO_PROXY: noProxy });
  // The doctor asks this; what sends is undici.
  expect(proxyFor(rules, new URL(url))?.origin).toBe(way === "proxy" ? address : undefined);
  if (rules === undefined) return;
  const dispatcher = await openProxyDispatcher(rules, {});
  asked.length = 0;
  await using client = new CrossBorderClient({
    ...{ baseUrl: url, auth: { accessToken: () => "token" }, dispatcher, maxRetries: 0 },
  });
  const failed: unknown = await client.paymentIntents.get("1").catch((error: unknown) => error);
  await dispatcher.close();
  expect(failed).toMatchObject({ name: "ConnectionError", effect: "none" });
  expect(asked).toHaveLength(way === "proxy" ? 1 : 0);
});

it("takes HTTPS_PROXY for https alone, and a proxy of the settings for both", () => {
  const [plain, safe] = [new URL("http://127.0.0.1"), new URL(name)];
  const ways = [readProxy({}, { HTTPS_PROXY: address }), readProxy({ proxy: address }, {}), undefined].map((rules) =>
    [plain, safe].map((url) => proxyFor(rules, url) !== undefined),
  );
  expect(ways).toEqual([
    [false, true],
    [true, true],
    [false, false],
  ]);
});
