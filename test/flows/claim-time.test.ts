import { CrossBorderClient } from "cross-border-payments";
import { FlowPausedError, MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { startSandbox } from "cross-border-payments/sandbox";
import { Agent, type Dispatcher } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { block } from "../support/block.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { stretched } from "../support/patience.js";
import { Bank, request } from "./flow-fixture.js";

const leaseMs = stretched(600);
const isPaymentRequest = ({ method, path }: Dispatcher.DispatchOptions) => method === "POST" && path === "/payments";

type Hold = (send: (through: "an open connection" | "a new connection") => void) => void;

/** A flow over real sockets, whose dispatcher holds the request that pays up as `hold` says. */
async function socketFixture(hold: Hold) {
  const { privateKey, publicKeyBase64 } = signingKeysOf("gateway");
  const server = await startSandbox();
  const agent = new Agent({ allowH2: false });
  const other = new Agent({ allowH2: false });
  let isHeldUp = true;
  const dispatcher: Pick<Dispatcher, "dispatch"> = {
    dispatch(options, handler) {
      if (!isPaymentRequest(options) || !isHeldUp) return agent.dispatch(options, handler);
      hold((through) => void (through === "a new connection" ? other : agent).dispatch(options, handler));
      return true;
    },
  };
  const options = { ...server.clientOptions, signingKey: privateKey, maxRetries: 0, dispatcher };
  const client = new CrossBorderClient(options);
  onTestFinished(async () => {
    await client.close();
    await Promise.all([agent.destroy(), other.destroy()]);
    await server.close();
  });
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64: publicKeyBase64 });
  }
  const journal = new MemoryJournal();
  const bank = new Bank();
  const { takeFunds, releaseFunds } = bank;
  const flow = new PaymentFlow({ client, journal, takeFunds, releaseFunds, leaseMs, readBackDelayMs: 10 });
  const received = () => server.sandbox.requests.filter(({ operation }) => operation === "payments.create").length;
  const letThrough = () => {
    isHeldUp = false;
  };
  return { flow, bank, journal, received, letThrough, sandbox: server.sandbox };
}

it.each<[string, Hold]>([
  [
    "the event loop was blocked before the request was dispatched",
    (send) => {
      block(leaseMs);
      send("an open connection");
    },
  ],
  [
    "the event loop was blocked while the connection was opened",
    (send) => {
      send("a new connection");
      process.nextTick(() => block(leaseMs));
    },
  ],
  ["the dispatcher held the request back", (send) => void setTimeout(() => send("an open connection"), leaseMs + 50)],
])("a claim is not sent after its time: %s", async (_, hold) => {
  const { flow, bank, journal, received, letThrough, sandbox } = await socketFixture(hold);
  const error = await flow.run("k", request).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FlowPausedError);
  expect(error).toMatchObject({ effect: "possible", cause: { code: "timeout", effect: "none" } });
  expect((await journal.read("k"))?.phase).toBe("funds-requested");
  // A request that came late would be here by now.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(received()).toBe(0);
  letThrough();
  expect(await flow.run("k", request)).toMatchObject({ status: "paid" });
  expect([received(), sandbox.payments.length, bank.taken.size]).toEqual([1, 1, 1]);
});
