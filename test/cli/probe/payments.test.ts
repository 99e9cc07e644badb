import { expect, it } from "vitest";
import { Payments } from "../../../src/cli/probe/payments.js";
import { Prober } from "../../../src/cli/probe/prober.js";
import { parseBaseUrl } from "../../../src/wire/base-url.js";
import { signingKeysOf } from "../../support/key-pairs.js";
import { intent } from "./probe-fixture.js";

it("takes the time of a payment that a repeated request gets again for no clock of the service's", async () => {
  const token = { access_token: "t", token_type: "Bearer", expires_in: 300 };
  const made = { id: "p", createdAt: new Date().toISOString() };
  const prober = new Prober({
    ...{ baseUrl: parseBaseUrl("http://127.0.0.1:1/", "baseUrl"), budget: 10, patienceMs: 0 },
    auth: { authUrl: "http://127.0.0.1:1/", realm: "r", clientId: "c", username: "u", password: "p" },
    transport: {
      send: async ({ path }) => ({
        status: 200,
        headers: {},
        text: JSON.stringify(path === "/payments" ? made : token),
      }),
      close: async () => {},
    },
    signal: new AbortController().signal,
  });
  const payments = new Payments({ prober, intent, signingKey: signingKeysOf("gateway").privateKey });
  const first = await payments.pay({ ...intent, id: "i" });
  expect((await payments.payAgain(first)).payment).toEqual(made);
  expect(payments.clocks).toHaveLength(1);
});
