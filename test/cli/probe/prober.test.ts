import { expect, it } from "vitest";
import { Prober } from "../../../src/cli/probe/prober.js";
import { parseBaseUrl } from "../../../src/wire/base-url.js";
import { type Transport, WireFailure } from "../../../src/wire/transport.js";

const baseUrl = parseBaseUrl("http://127.0.0.1:1/", "baseUrl");
const auth = { authUrl: "http://127.0.0.1:1/", realm: "r", clientId: "c", username: "u", password: "p" };

/** Sends one request, whose first sending fails. */
async function sendAfter(failure: WireFailure) {
  let sent = 0;
  const transport: Transport = {
    send: async () => {
      sent += 1;
      if (sent === 1) throw failure;
      return { status: 200, headers: {}, text: "{}" };
    },
    close: async () => {},
  };
  const { signal } = new AbortController();
  const prober = new Prober({ baseUrl, auth, transport, budget: 10, patienceMs: 0, signal });
  const result = prober.send({ method: "POST", path: "/payments", body: "{}", token: null });
  return { result: await result.catch(String), sent };
}

it("sends no request again that may have been sent", async () => {
  const { result, sent } = await sendAfter(new WireFailure({ sent: true, reason: "ECONNRESET" }));
  expect(result).toContain("no response came to r1 (ECONNRESET)");
  expect(sent).toBe(1);
});
