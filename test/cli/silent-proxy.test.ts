import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ConnectionError, CrossBorderClient } from "../../src/index.js";
import { openProxyDispatcher } from "../../src/settings/proxy.js";
import { eventually } from "../support/eventually.js";
import { keyPairOf } from "../support/key-pairs.js";
import { originOf } from "../support/origin-of.js";

/** A proxy that says nothing to CONNECT, and a client that reaches everything by it. */
async function clientBehind(onConnect: (socket: Socket) => void, tunnelTimeoutMs?: number) {
  const proxy = createServer((socket) => socket.on("error", () => {}).once("data", () => onConnect(socket)));
  const url = new URL(await originOf(proxy));
  const dispatcher = await openProxyDispatcher(
    { url, isForHttp: true, exceptions: [], unknown: [] },
    {},
    tunnelTimeoutMs,
  );
  onTestFinished(async () => {
    await dispatcher.close();
    proxy.close();
  });
  return new CrossBorderClient({
    ...{ baseUrl: "http://127.0.0.1:9", auth: { accessToken: () => "token" }, maxRetries: 0, timeoutMs: 20_000 },
    ...{ dispatcher, signingKey: keyPairOf("gateway").privateKey },
  });
}

function deposit(client: CrossBorderClient): Promise<unknown> {
  const fields = { amount: "1.00", currency: "EUR", paymentGatewayId: "alpha-bank" };
  return client.liquidityProviders
    .deposits("1")
    .create(fields)
    .catch((error: unknown) => error);
}

it.each([
  ["closes", (socket: Socket) => socket.destroy()],
  ["resets", (socket: Socket) => socket.resetAndDestroy()],
])("asks a proxy once that %s the connection in place of an answer, and has sent nothing", async (_, end) => {
  let asked = 0;
  await using client = await clientBehind((socket) => {
    asked += 1;
    end(socket);
  });
  const failed = await deposit(client);
  expect(failed).toBeInstanceOf(ConnectionError);
  expect(failed).toMatchObject({ code: "connection_failed", effect: "none", cause: { code: "PROXY_CLOSED" } });
  expect(asked).toBe(1);
});

it("gives up a connection to a proxy that does not answer, and has sent nothing", async () => {
  const closed: Promise<unknown>[] = [];
  await using client = await clientBehind((socket) => closed.push(once(socket, "close")), 100);
  const failed = await deposit(client);
  expect(failed).toMatchObject({
    code: "connection_failed",
    effect: "none",
    cause: { code: "UND_ERR_CONNECT_TIMEOUT" },
  });
  // The proxy hears of it later.
  await eventually(() => expect(closed).toHaveLength(1));
  await Promise.all(closed);
});
