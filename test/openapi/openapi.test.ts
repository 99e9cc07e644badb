import { readFileSync } from "node:fs";
import { CrossBorderClient } from "cross-border-payments";
import { type SandboxOptions, startSandbox } from "cross-border-payments/sandbox";
import { expect, it, onTestFinished } from "vitest";
import { operationNames } from "../../src/resources/catalogue.js";
import { callEverything } from "../contract/calls.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { run, startPrism } from "./prism.js";

const document = "openapi.json";

/** The sandbox, by way of another address. */
async function sandboxBehind(lead: (url: string) => Promise<string>, more?: SandboxOptions) {
  const server = await startSandbox(more);
  const baseUrl = await lead(server.baseUrl);
  const signingKey = signingKeysOf("gateway").privateKey;
  const client = new CrossBorderClient({ ...server.clientOptions, baseUrl, signingKey });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  return { sandbox: server.sandbox, baseUrl, client };
}

/** What Prism did not like. */
const violations = (log: string) => log.split("\n").filter((line) => line.includes("✖"));

it("is a valid description", async () => {
  const { code, text } = await run("redocly", "lint", "--extends", "recommended-strict", document);
  expect({ code, problems: /\d+ (errors?|warnings?)/.exec(text)?.[0] }, text).toEqual({ code: 0, problems: undefined });
});

it("names every operation", () => {
  const { paths } = JSON.parse(readFileSync(document, "utf8")) as {
    readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
  };
  const names = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
  expect(names.sort()).toEqual([...operationNames].sort());
});

it("makes a mock of Prism's, which every operation passes", async () => {
  const prism = await startPrism("mock", document);
  const { sandbox, client } = await sandboxBehind(async () => prism.url);
  // What it gives as a text.
  await callEverything(client, "string");
  expect(violations(prism.log())).toEqual([]);
  expect(prism.log().match(/Request received/g)?.length).toBeGreaterThanOrEqual(operationNames.length);
  expect(sandbox.requests.map(({ operation }) => operation)).toEqual(["token"]);
});

it("lets every operation pass where Prism validates it before the sandbox", async () => {
  let log = () => "";
  const { sandbox, client } = await sandboxBehind(async (url) => {
    const prism = await startPrism("proxy", "--errors", document, url);
    ({ log } = prism);
    return prism.url;
  });
  await callEverything(client);
  const { requests } = sandbox;
  const reached = requests.filter(({ operation, status }) => operation !== "token" && status === 200);
  expect(new Set(reached.map(({ operation }) => operation))).toEqual(new Set(operationNames));
  expect(violations(log())).toEqual([]);
});

const validated = async (url: string) => (await startPrism("proxy", "--errors", document, url)).url;

it("lets Prism refuse a payment without a signature, before the service sees it", async () => {
  const { sandbox, baseUrl } = await sandboxBehind(validated);
  const response = await fetch(`${baseUrl}/payments`, {
    method: "POST",
    headers: { authorization: "Bearer token", "content-type": "application/json" },
    body: "{}",
  });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain("x-service-signature-base64");
  expect(sandbox.requests).toEqual([]);
});

it("lets Prism see a response that is not described", async () => {
  const onResponse = ({ operation }: { readonly operation: string | undefined }) =>
    operation === "token" ? undefined : Response.json([{ id: 1 }]);
  const { baseUrl } = await sandboxBehind(validated, { onResponse });
  const response = await fetch(`${baseUrl}/payments`, { headers: { authorization: "Bearer token" } });
  expect(response.status).toBe(500);
  expect(await response.text()).toContain("must be string");
});
