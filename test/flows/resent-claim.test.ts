import { expect, it } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";
import { brief, flowFixture, isPayment, request } from "./flow-fixture.js";

it("names the key that signed it, after the key was changed", async () => {
  const { flow } = await flowFixture({ onRequest: (seen) => (isPayment(seen) ? Response.error() : undefined) }, brief);
  const gatewayId = request.senderGatewayId;
  const held = await flow({ gatewayId }).run("k", request);
  if (held.status !== "held") throw new Error(`the flow is ${held.status}`);
  const { privateKey: signingKey } = signingKeysOf("stranger");
  const resolution = { by: "Olga Operator", why: "it was not made" };
  const again = await flow({ gatewayId }, { signingKey }).resolve("k", "resend", resolution);
  if (again.status !== "held") throw new Error(`the flow is ${again.status}`);
  const [first, second] = again.claims;
  expect(first).toEqual(held.claim);
  expect(second).toMatchObject({ signature: first?.signature, keyId: first?.keyId });
  expect(first?.keyId).toMatch(/^[0-9a-f]{64}$/);
});
