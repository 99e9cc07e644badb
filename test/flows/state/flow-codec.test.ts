import { describe, expect, it } from "vitest";
import { FlowCodec } from "../../../src/flows/state/flow-codec.js";
import type { FlowState } from "../../../src/flows/state/flow-state.js";

const scope = { service: "https://service.example", gateway: "alpha" };
const quoteTtlMs = 900_000;
const cipher = {
  encrypt: (text: string) => `sealed:${text}`,
  decrypt: (text: string) => {
    if (!text.startsWith("sealed:")) throw new Error("the seal is broken");
    return text.slice("sealed:".length);
  },
};
const intent = { id: "intent-1", senderAmount: "10.00", senderGatewayId: "alpha" };
const claim = { path: "/payments", body: "{}", signature: "s", epoch: 1, claimedAtMs: 1, sendByMs: 2 };
const payable = {
  request: { senderGatewayId: "alpha", senderAccount: "DE-0001" },
  intent,
  since: null,
  claims: [claim],
  looks: [],
  decisions: [],
};
const paid = { phase: "paid", ...payable, senderGatewayTransactionId: "TX-1", payment: { id: "payment-1" } };
const quoted = { phase: "quoted", request: payable.request, intent };

const encoded = (state: object) => new FlowCodec(cipher, quoteTtlMs).encode("k", scope, state as FlowState);

describe("what is stored of a flow", () => {
  it("is read again, decrypted", async () => {
    const { phase, data } = await encoded(paid);
    expect(await new FlowCodec(cipher, quoteTtlMs).decode({ key: "k", scope, phase, data })).toEqual(paid);
  });

  it("has evidence once there is an outcome: who was paid what by which payment, without accounts", async () => {
    const { settled, evidence } = await encoded(paid);
    expect(settled).toBe(true);
    expect(JSON.parse(cipher.decrypt(evidence))).toMatchObject({
      key: "k",
      phase: "paid",
      intentId: "intent-1",
      senderAmount: "10.00",
      senderGatewayTransactionId: "TX-1",
      paymentId: "payment-1",
      signatures: ["s"],
    });
    expect(evidence).not.toContain("DE-0001");
  });

  it("has no evidence as long as nothing was paid or declined", async () => {
    const { phase: _, payment, ...open } = paid;
    expect(await encoded({ phase: "claimed", ...open, claim })).toMatchObject({ settled: false, evidence: "" });
    expect(await encoded(quoted)).toMatchObject({ settled: true, evidence: "", quoteTtlMs });
  });
});

describe("a row that this library did not store", () => {
  it.each(["", "{", "null", "[]", "{}", '{"version":2,"key":"k"}'])("is unreadable: %j", async (data) => {
    const work = new FlowCodec(undefined, quoteTtlMs).decode({ key: "k", scope, phase: "paid", data });
    await expect(work).rejects.toMatchObject({ code: "flow_unreadable", effect: "possible" });
  });

  it.each([
    ["of a later version", { version: 3 }],
    ["for another key", { key: "j" }],
    ["for another service", { scope: { ...scope, service: "https://other.example" } }],
    ["for another gateway", { scope: { ...scope, gateway: "beta" } }],
    ["without a scope", { scope: undefined }],
    ["in a phase that it does not know", { state: { ...paid, phase: "refunded" } }],
  ])("is unreadable: one %s", async (_, other) => {
    const codec = new FlowCodec(undefined, quoteTtlMs);
    const stored = { version: 2, key: "k", scope, state: paid };
    const row = (data: { readonly state: { readonly phase: string } }) =>
      ({ key: "k", scope, phase: data.state.phase, data: JSON.stringify(data) }) as Parameters<FlowCodec["decode"]>[0];
    expect(await codec.decode(row(stored))).toEqual(paid);
    const work = codec.decode(row({ ...stored, ...other }));
    await expect(work).rejects.toMatchObject({ code: "flow_unreadable", effect: "possible" });
  });

  it("tells what the cipher said of it", async () => {
    const work = new FlowCodec(cipher, quoteTtlMs).decode({ key: "k", scope, phase: "paid", data: "{}" });
    await expect(work).rejects.toMatchObject({
      code: "flow_unreadable",
      effect: "possible",
      message: expect.stringContaining('"k"'),
      cause: { message: "the seal is broken" },
    });
  });
});
