import { expect, it } from "vitest";
import { stretched } from "../support/patience.js";
import { flowFixture, isList, isPayment, request } from "./flow-fixture.js";

const namingFields = ["creationRequestSignatureBase64", "creationRequestBody", "senderGatewayTransactionId"];

/** A service that lists payments without what tells whose they are, and whose responses to payments do not arrive. */
async function nameless(status: number) {
  let made = 0;
  const fixture = await flowFixture({
    onResponse(seen, response) {
      if (isPayment(seen) && response.ok) {
        made += 1;
        return Response.json({ error: "not_allowed", message: "not allowed" }, { status });
      }
      return isList(seen) && response.ok ? withoutNames(response) : undefined;
    },
  });
  return { ...fixture, made: () => made };
}

async function withoutNames(response: Response): Promise<Response> {
  const records = (await response.json()) as Record<string, unknown>[];
  const left = records.map((record) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !namingFields.includes(name))),
  );
  return Response.json(left);
}

it("is not made again for its not being recognised, whatever the service promises", async () => {
  const { flow, bank, made } = await nameless(502);
  const outcome = await flow({ service: { listedWithinMs: 20 }, leaseMs: stretched(100) }).run("k", request);
  expect(outcome).toMatchObject({ status: "held", reason: expect.stringContaining("nothing shows whose it is") });
  expect([made(), bank.released]).toEqual([1, []]);
});

it("is not given back for its not being recognised, where the service seems to have refused it", async () => {
  const { flow, bank, made } = await nameless(422);
  expect(await flow({ leaseMs: stretched(100) }).run("k", request)).toMatchObject({ status: "held" });
  expect([made(), bank.released]).toEqual([1, []]);
});
