import { expect, it } from "vitest";
import { flowFixture, request } from "../flow-fixture.js";
import { errorOf } from "../results.js";

it("names the fields by which a request differs from that of its key, by their names", async () => {
  const { flow } = await flowFixture();
  await flow().quote("k", request);
  const other = { ...request, senderAccount: "DE-0002", receiverAmount: "151.00", memo: "rent" };
  const error = await errorOf(flow().run("k", other));
  expect(error).toMatchObject({ code: "flow_key_reused" });
  expect(error.message).toContain('the key "k" belongs to another request');
  expect(error.message).toContain("differs in memo, receiverAmount, senderAccount:");
  expect(error.message).not.toMatch(/151|DE-0002|rent/);
});

it("says what to do where the price is another than the one that was shown", async () => {
  const { flow } = await flowFixture();
  await flow().quote("k", request);
  const error = await errorOf(flow().confirm("k", { intentId: "another" }));
  expect(error).toMatchObject({ code: "quote_changed" });
  expect(error.message).toMatch(/the flow of key "k" .*: show its price, which quote or status gives/);
});

it("does not speak of a flow that was paid as of one that is to be paid", async () => {
  const { flow } = await flowFixture();
  await flow().run("k", request);
  const error = await errorOf(flow().confirm("k", { intentId: "another" }));
  expect(error).toMatchObject({ code: "quote_changed" });
  expect(error.message).toContain("the flow is paid, and status gives what became of it");
  expect(error.message).not.toContain("before it is paid");
});

it.each(["confirm", "cancel"] as const)("says which key is unknown to %s, and what to do", async (method) => {
  const { flow } = await flowFixture();
  const error = await errorOf(method === "confirm" ? flow().confirm("k", { intentId: "1" }) : flow().cancel("k"));
  expect(error).toMatchObject({ code: "flow_unknown" });
  expect(error.message).toContain('there is no flow of key "k": call quote first');
});

it("says which call comes too late for a quote", async () => {
  const { flow } = await flowFixture();
  await flow().run("k", request);
  const error = await errorOf(flow().cancel("k"));
  expect(error).toMatchObject({ code: "flow_confirmed" });
  expect(error.message).toMatch(/^cancel: the flow of key "k" is paid/);
});
