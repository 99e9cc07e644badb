import { inspect } from "node:util";
import { BadRequestError } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { intentRequest } from "../support/corridor.js";
import { harnesses } from "./harness.js";

describe.each(harnesses)("$name", ({ open }) => {
  it("reads code and message from the refusal of a single read, error and message from all others", async () => {
    await using harness = await open();
    const client = harness.client();
    const reading = await client.paymentGateways.get("unknown").catch((thrown: unknown) => thrown);
    expect(reading).toBeInstanceOf(BadRequestError);
    expect((reading as BadRequestError).serviceCode).toBeTruthy();
    expect((reading as BadRequestError).serviceMessage).toBeTruthy();
    const creating = await client.paymentIntents.create(intentRequest).catch((thrown: unknown) => thrown);
    expect(creating).toBeInstanceOf(BadRequestError);
    expect((creating as BadRequestError).serviceCode).toBeTruthy();
  });

  it("keeps account numbers that the service repeats out of its errors", async () => {
    await using harness = await open({
      onRequest: ({ operation, body }) =>
        operation === "paymentIntents.create"
          ? Response.json({ error: "invalid", message: `can't take ${body}` }, { status: 400 })
          : undefined,
    });
    const request = { ...intentRequest, senderAccount: "DE89370400440532013000", receiverAccount: "KE-SECRET-77" };
    const error = await harness
      .client()
      .paymentIntents.create(request)
      .catch((thrown: unknown) => thrown);
    const shown = [inspect(error, { depth: 9 }), JSON.stringify(error), String((error as Error).stack)].join();
    expect(shown).toContain("serviceCode");
    expect((error as BadRequestError).serviceMessage).toContain("can't take");
    expect(shown).not.toContain("DE89370400440532013000");
    expect(shown).not.toContain("KE-SECRET-77");
  });

  it("shows no secret when the client itself is printed", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.liquidityProviders.list();
    const shown = inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client);
    if (!("password" in harness.options.auth)) throw new Error("the harness has no password");
    expect(shown).not.toContain(harness.options.auth.password);
    expect(shown).not.toMatch(/Bearer|[\w-]{32}/);
  });
});
