import { afterEach, expect, it, vi } from "vitest";
import { gatewayClient, intentRequest } from "./gateway-client.js";

const file = "../../src/flows/pay.js";

afterEach(() => {
  vi.doUnmock(file);
  vi.resetModules();
});

it("says so where what pays can't be loaded, sends and takes nothing, and tries again with the next payment", async () => {
  vi.resetModules();
  vi.doMock(file, () => {
    throw new Error("too many open files");
  });
  const { latePay } = await import("../../src/flows/late-pay.js");
  const { client, asked } = gatewayClient();
  const takeFunds = vi.fn(() => ({ senderGatewayTransactionId: "tx-1" }));
  await expect(latePay(client, intentRequest, takeFunds, undefined)).rejects.toMatchObject({
    name: "ConfigError",
    effect: "none",
    message: expect.stringContaining("what pays in two steps can't be loaded, so nothing was sent"),
    cause: expect.anything(),
  });
  expect(asked).toEqual([]);
  expect(takeFunds).not.toHaveBeenCalled();
  vi.doUnmock(file);
  expect(await latePay(client, intentRequest, takeFunds, undefined)).toMatchObject({ status: "paid" });
});
