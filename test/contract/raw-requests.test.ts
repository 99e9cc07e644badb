import { CrossBorderClient, verifySignature } from "cross-border-payments";
import { type SandboxRequest, startSandbox } from "cross-border-payments/sandbox";
import { expect, it } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";

it("reaches a path that the service has and the description has not, signed, with the token of all calls", async () => {
  const seen: SandboxRequest[] = [];
  await using server = await startSandbox({
    basePath: "/gw",
    onRequest(request) {
      if (request.operation !== undefined) return undefined;
      seen.push(request);
      return Response.json({ id: "r-1", status: "approved" });
    },
  });
  const { privateKey, publicKeyBase64 } = signingKeysOf("gateway");
  await using client = new CrossBorderClient({ ...server.clientOptions, signingKey: privateKey });
  await client.liquidityProviders.list();
  const { data, response } = await client
    .request({ method: "PATCH", path: "/refunds/{refundId}", ids: ["a b"], body: { note: "€" }, signed: true })
    .withResponse();
  expect([data, response.status]).toEqual([{ id: "r-1", status: "approved" }, 200]);
  const [{ method, path, headers, body } = {} as SandboxRequest] = seen;
  expect([method, path, body]).toEqual(["PATCH", "/gw/refunds/a%20b", '{"note":"€"}']);
  const signature = headers.get("x-service-signature-base64") ?? "";
  expect(await verifySignature({ path, body, signature, publicKey: publicKeyBase64 })).toBe(true);
  expect(server.sandbox.tokenRequests).toHaveLength(1);
});
