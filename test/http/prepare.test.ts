import { describe, expect, it } from "vitest";
import { later, now } from "../../src/core/clock.js";
import { OutcomeUnknownError } from "../../src/core/errors.js";
import type { RawRequest } from "../../src/http/raw.js";
import { payments } from "../../src/resources/payments.js";
import { broken, errorOf, json, payment, scriptedClient } from "./scripted-transport.js";

describe("a request without a description", () => {
  const approval = {
    method: "POST",
    path: "/refunds/{refundId}/approve",
    ids: ["refund-of-erika"],
  } as const satisfies RawRequest;

  it.each([
    ["an id", "no refund-of-erika"],
    ["its query", "no Rob Receiver"],
    ["its body", "no Ada Lovelace"],
  ])("has its values kept out of the service's code: one of %s", async (_, error) => {
    const { client } = scriptedClient([json({ error, message: "m" }, 400)]);
    const given = { ...approval, query: { to: "Rob Receiver" }, body: { from: "Ada Lovelace" } };
    expect(await errorOf(client.request(given))).not.toHaveProperty("serviceCode");
  });

  it("holds an empty text for reconciliation where it had no body", async () => {
    const { client, transport } = scriptedClient([broken]);
    const error = await errorOf(client.request(approval));
    if (!(error instanceof OutcomeUnknownError)) throw error;
    expect(error.request).toEqual({ path: "/gw/refunds/refund-of-erika/approve", body: "" });
    expect(transport.sent[0]?.body).toBeUndefined();
  });
});

describe("what was signed of a request that was signed earlier", () => {
  const path = "/gw/payments?dry=1&of=a?b";
  it.each([
    [false, "/gw/payments"],
    [true, path],
  ])("is its path, with the query only if that is signed too (%s)", async (signQuery, signed) => {
    const { client, transport } = scriptedClient([{ status: 400 }], { signQuery });
    const request = { path, body: JSON.stringify(payment), signature: "s" };
    const error = await errorOf(client.send(payments.create, request, later(now(), 60_000)));
    expect(error).toHaveProperty("signed.path", signed);
    expect(transport.sent[0]?.path).toBe(path);
  });
});
