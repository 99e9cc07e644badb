import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type SandboxOptions, startSandbox } from "../../src/sandbox/index.js";
import { originInTest } from "../support/origin-of.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { environmentOf, registeredClient, requestOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const folder = temporaryFolder();

interface Report {
  readonly questions: readonly { readonly id: string; readonly value?: unknown; readonly says?: string }[];
  readonly settings: object;
  readonly changes?: readonly string[];
}

async function ask(env: object, ...more: readonly string[]): Promise<{ code: number; report: Report }> {
  const line = ["doctor", "--service", "--json", "--wait", "300ms", ...more];
  const { code, stdout, stderr } = await run(line, { env });
  expect(stderr).toBe("");
  return { code, report: JSON.parse(stdout) };
}

const valuesOf = ({ questions }: Report) => Object.fromEntries(questions.map(({ id, value }) => [id, value]));

/** What the sandbox answers with these options. */
async function askSandbox(options: SandboxOptions) {
  await using server = await startSandbox(options);
  await using client = await registeredClient(server);
  for (let index = 1; index <= 12; index += 1) {
    await client.pay(requestOf(`${index}.00`), () => ({ senderGatewayTransactionId: `TX-${index}` }));
  }
  const earlier = server.sandbox.requests.length;
  const { report } = await ask(environmentOf(server));
  const methods = new Set(
    server.sandbox.requests.slice(earlier).map(({ method, path }) => `${method} ${path.split("/").at(-1)}`),
  );
  return { report, methods };
}

const filters = { id: "filters", senderGatewayTransactionId: "filters", receiverGatewayStatus: "filters" };

it.each<[what: string, options: SandboxOptions, values: object]>([
  [
    "as described",
    { maxSize: 5 },
    {
      size: { largest: 5, above: "clipped" },
      bounds: { _after: "exclusive", _before: "exclusive" },
      tokens: { kind: "numbers", tokens: "up" },
      sort: { pagingToken: "sorted", createdAt: expect.any(String) },
      filters: { ...filters, unknownField: "refused" },
      clock: "within 30 s",
      errors: { badQuery: "400 invalid_query", badPath: expect.stringMatching(/^404 /) },
      caches: "none",
      listed: undefined,
      idle: "not seen",
    },
  ],
  [
    "with opaque tokens, newest first, and bounds that include their record",
    { quirks: { newestFirst: true, textTokens: true, inclusiveBounds: "both" } },
    {
      bounds: { _after: "inclusive", _before: "inclusive" },
      tokens: { kind: "texts", tokens: "down" },
      size: undefined,
    },
  ],
  ["without tokens", { pagingTokens: "none" }, { tokens: "none", bounds: undefined }],
])("finds what a service does that is %s", async (_, options, values) => {
  const { report, methods } = await askSandbox(options);
  expect(valuesOf(report)).toMatchObject(values);
  expect([...methods].filter((method) => !/^GET |^POST (token|logout)$/.test(method))).toEqual([]);
});

/** A service that ignores every query, behind a cache, with a wrong clock, late lists, and connections that end soon. */
async function startStubborn(): Promise<Record<string, string>> {
  const rowOf = (index: number, agoMs: number) => ({
    ...{ id: `p-${index}`, pagingToken: String(index), senderGatewayTransactionId: `TX-${index}` },
    ...{ receiverGatewayStatus: "pending", createdAt: new Date(Date.now() - agoMs).toISOString() },
  });
  const rows = Array.from({ length: 6 }, (_, index) => rowOf(index, 60_000 - index));
  const server = createServer(({ url = "", method }, response) => {
    response.setHeader("content-type", "application/json");
    if (method === "POST") return void response.end(JSON.stringify({ access_token: "t", token_type: "Bearer" }));
    if (url.includes("_sort=pagingToken.desc&_size=20")) rows.push(rowOf(rows.length, 20_000));
    response.setHeader("date", new Date(Date.now() + 600_000).toUTCString());
    response.setHeader("age", "7").end(JSON.stringify(rows));
  });
  server.keepAliveTimeout = 50;
  const origin = await originInTest(server);
  return {
    ...{ CROSS_BORDER_BASE_URL: origin, CROSS_BORDER_AUTH_URL: origin, CROSS_BORDER_REALM: "r" },
    ...{ CROSS_BORDER_CLIENT_ID: "c", CROSS_BORDER_USERNAME: "u", CROSS_BORDER_PASSWORD: "p" },
  };
}

it("prints the settings that follow, and what changed since a baseline", async () => {
  const env = await startStubborn();
  const { code, report } = await ask(env, "--wait", "1100ms");
  expect(code).toBe(0);
  expect(valuesOf(report)).toMatchObject({
    bounds: { _after: "ignored", _before: "ignored" },
    sort: { pagingToken: "ignored", createdAt: "ignored" },
    filters: { id: "ignored", unknownField: "ignored" },
    clock: "10 min",
    caches: expect.stringContaining("ignores no-cache"),
    listed: "later",
    idle: expect.stringMatching(/^[01] s$/),
  });
  expect(report.settings).toMatchObject({
    PaymentFlow: { clockSkewMs: expect.any(Number), readBackDelayMs: expect.any(Number) },
  });
  const baseline = join(folder, "baseline.json");
  writeFileSync(baseline, JSON.stringify(report));
  expect(await ask(env, "--wait", "1100ms", "--baseline", baseline)).toMatchObject({
    code: 0,
    report: { changes: [] },
  });
  const questions = report.questions.map((one) => (one.id === "caches" ? { ...one, value: "none" } : one));
  writeFileSync(baseline, JSON.stringify({ questions }));
  const again = await ask(env, "--wait", "1100ms", "--baseline", baseline);
  expect(again).toMatchObject({ code: 1, report: { changes: ["caches"] } });
  const shown = await run(["doctor", "--service", "--wait", "1ms"], { env });
  expect(shown.stdout).toMatch(/\nok {4}sort: pagingToken: ignored, createdAt: ignored\n/);
  expect(shown.stdout).toMatch(/\nSettings:\n {2}\S/);
});

it("refuses a baseline that is something else, before it asks", async () => {
  writeFileSync(join(folder, "other.json"), "{}");
  const line = ["doctor", "--service", "--baseline", join(folder, "other.json")];
  const { code, stderr } = await run(line, { env: await startStubborn() });
  expect([code, stderr]).toEqual([3, expect.stringContaining("is not the output of doctor --service --json")]);
});
