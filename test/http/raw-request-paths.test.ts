import { expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import type { RawRequest } from "../../src/http/raw-request.js";
import { operations } from "../../src/resources/catalogue.js";
import { errorOf, json, scriptedClient } from "./scripted-transport.js";

const described = [...operations.values()];

it.each<[string, RawRequest, string]>([
  ["a described read, which a query may be added to", { method: "GET", path: "/payments" }, "/gw/payments"],
  ["another method of a described path", { method: "PATCH", path: "/payments" }, "/gw/payments"],
  [
    "a path below a described one",
    { method: "POST", path: "/payments/{paymentId}/refunds", ids: ["1"] },
    "/gw/payments/1/refunds",
  ],
  [
    "a path above a described one",
    { method: "POST", path: "/liquidity-providers/{id}", ids: ["1"] },
    "/gw/liquidity-providers/1",
  ],
])("may be %s", async (_, given, path) => {
  const { client, transport } = scriptedClient([json({})]);
  expect(await client.request(given, described)).toEqual({});
  expect(transport.sent).toMatchObject([{ method: given.method, path }]);
});

it.each([[5], [{}], [["/refunds"]]])("has a text for its path, and not %j", async (path) => {
  const { client, transport } = scriptedClient([json({})]);
  const error = await errorOf(client.request({ method: "GET", path: path as never }, described));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error.message).toContain("path must be a path such as /refunds/{refundId}");
  expect(transport.sent).toEqual([]);
});
