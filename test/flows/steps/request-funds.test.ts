import { expect, it } from "vitest";
import { stretched } from "../../support/patience.js";
import { closed, type FlowFixture, flowFixture, request } from "../flow-fixture.js";
import { all, errorOf } from "../results.js";

const decision = { by: "Olga Operator", why: "the service has no such payment", withoutProof: true };
const unreadable = () => Response.json([{ id: "p", senderGatewayTransactionId: "another's" }]);

it("keeps, of looks that could not see every payment, the last one for each request that may have been sent", async () => {
  let sent = 0;
  let isAway = false;
  const fixture = await flowFixture({
    onRequest: ({ operation }) => {
      if (operation === "payments.create") {
        sent += 1;
        isAway = true;
        return Response.error();
      }
      if (operation !== "payments.list" || fixture.bank.calls === 0) return undefined;
      return isAway ? new Response("", { status: 503 }) : unreadable();
    },
  });
  const { bank } = fixture;
  const flow: FlowFixture["flow"] = (options) => fixture.flow({ leaseMs: stretched(600), ...options });
  const causeOf = async (call: Promise<unknown>) => (await errorOf(call)).cause;
  expect(await causeOf(flow({ takeFunds: closed }).run("k", request))).toMatchObject({ message: "the bank is closed" });
  for (let round = 0; round < 2; round++)
    expect(await causeOf(flow().run("k", request))).toMatchObject({ code: "flow_payment_unseen" });
  expect(await all(flow().held())).toMatchObject([{ status: "stuck", claims: [], looks: [{ claims: 0 }] }]);

  expect(await causeOf(flow().resolve("k", "resend", decision))).toMatchObject({ code: "http_503" });
  for (let round = 0; round < 2; round++)
    expect(await causeOf(flow().run("k", request))).toMatchObject({ code: "http_503" });
  expect(await causeOf(flow({ takeFunds: closed }).resolve("k", "resend", decision))).toMatchObject({
    message: "the bank is closed",
  });
  isAway = false;
  for (let round = 0; round < 2; round++)
    expect(await causeOf(flow().run("k", request))).toMatchObject({ code: "flow_payment_unseen" });
  const looks = [
    { claims: 0, complete: false },
    { claims: 1, complete: false },
  ];
  expect(await all(flow().held())).toMatchObject([{ status: "stuck", claims: { length: 1 }, looks }]);
  expect([sent, bank.released]).toEqual([1, []]);
});
