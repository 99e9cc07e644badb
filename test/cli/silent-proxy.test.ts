import { createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { CrossBorderClient } from "../../src/index.js";
import { openProxyDispatcher, type ProxyDispatcher } from "../../src/settings/connection.js";
import { keyPairOf } from "../support/key-pairs.js";
import { originOf } from "../support/origin-of.js";
import { stretched } from "../support/patience.js";
import { openClosedPort } from "../wire/closed-port.js";

/** A proxy that says nothing to CONNECT, and a client that reaches everything by it. */
async function clientBehind(onConnect: (socket: Socket) => void) {
  const proxy = createServer((socket) => socket.on("error", () => {}).once("data", () => onConnect(socket)));
  const url = new URL(await originOf(proxy));
  const dispatcher = await openProxyDispatcher({ url, isForHttp: true, exceptions: [] }, {});
  onTestFinished(async () => {
    await dispatcher.close();
    proxy.close();
  });
  return clientBy(dispatcher);
}

function clientBy(dispatcher: ProxyDispatcher): CrossBorderClient {
  return new CrossBorderClient({
    ...{
      baseUrl: "http://127.0.0.1:9",
      auth: { accessToken: () => "token" },
      maxRetries: 0,
      timeoutMs: stretched(500),
    },
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
  ["closes the connection", (socket: Socket) => socket.destroy()],
  ["says nothing", () => {}],
])("has sent nothing if a proxy %s in place of an answer to CONNECT", async (_, answer) => {
  await using client = await clientBehind(answer);
  expect(await deposit(client)).toMatchObject({ code: "timeout", effect: "none" });
});

it("has sent nothing if there is no proxy at the address", async () => {
  const { port, close } = await openClosedPort();
  const dispatcher = await openProxyDispatcher(
    { url: new URL(`http://127.0.0.1:${port}`), isForHttp: true, exceptions: [] },
    {},
  );
  onTestFinished(async () => {
    await dispatcher.close();
    close();
  });
  await using client = clientBy(dispatcher);
  expect(await deposit(client)).toMatchObject({ code: "connection_failed", effect: "none" });
});
