import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { onNode, strictly } from "../support/consumer-flags.js";
import { isThorough } from "../support/thorough.js";
import { project, tool } from "./installed-package.js";

/** What the compiler says of a consumer's files, which need no types but their own and those of their platform. */
function problems(files: Readonly<Record<string, string>>, flags: readonly string[]): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  const { stdout } = spawnSync(tool("tsc"), [...strictly, ...flags, ...Object.keys(files)], {
    cwd: project,
    encoding: "utf8",
  });
  return stdout;
}

const onTheWeb = ["--lib", "es2022,dom"];

const consumer = `
  import { CrossBorderClient, type Payment } from "cross-border-payments";
  import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
  import { PostgresJournal } from "cross-border-payments/journal/postgres";
  import { SqliteJournal } from "cross-border-payments/journal/sqlite";
  import { type PaymentEvent, watchPayments } from "cross-border-payments/reconcile";
  import { createSandbox } from "cross-border-payments/sandbox";
  import { verifyJournal } from "cross-border-payments/testing";
  import { PostgresTokenStore } from "cross-border-payments/tokens/postgres";
  import { RedisTokenStore } from "cross-border-payments/tokens/redis";
  const client = new CrossBorderClient({ baseUrl: "https://a.test", auth: { accessToken: async () => "t" } });
  export const status = async (): Promise<Payment["senderGatewayStatus"] | undefined> =>
    (await client.payments.list({ sort: "createdAt.desc" })).items[0]?.senderGatewayStatus;
  export const use = async () => {
    await using own = client;
    return own;
  };
  export const sandbox = createSandbox();
  export const events: AsyncIterable<PaymentEvent> = watchPayments(client);
  export const flow = new PaymentFlow({
    client,
    journal: new MemoryJournal(),
    takeFunds: ({ key }) => ({ senderGatewayTransactionId: key, replayed: false }),
    releaseFunds: () => {},
  });
  export const journals = [PostgresJournal, SqliteJournal, verifyJournal];
  export const tokenStores = [
    new RedisTokenStore({ redis: { eval: async () => null }, encryptionKey: "" }),
    new PostgresTokenStore({ pool: { query: async () => ({ rows: [] }) }, encryptionKey: "" }),
  ];
`;

/** Gives a client that it imported to a library that required the package: both have one type of it. */
const app = `
  import { CrossBorderClient } from "cross-border-payments";
  import { MemoryJournal } from "cross-border-payments/flow";
  import { flow, payments } from "./library.cjs";
  const client = new CrossBorderClient({ baseUrl: "https://a.test", auth: { accessToken: async () => "t" } });
  export const list = payments(client);
  export const run = flow({
    client,
    journal: new MemoryJournal(),
    takeFunds: () => null,
    releaseFunds: () => {},
  });
`;
const library = `
  import type { CrossBorderClient } from "cross-border-payments";
  import { PaymentFlow, type PaymentFlowOptions } from "cross-border-payments/flow";
  export const payments = (client: CrossBorderClient) => client.payments.list();
  export const flow = (options: PaymentFlowOptions) => new PaymentFlow(options);
`;
const both = { "consumer.mts": consumer, "consumer.cts": consumer, "library.cts": library, "app.mts": app };
const one = { "consumer.ts": consumer };

const newest = ["nodenext", "nodenext", "Node", onNode, both] as const;
const others = [
  ["node16", "node16", "Node", onNode, both],
  ["esnext", "bundler", "Node", onNode, one],
  ["esnext", "bundler", "the web", onTheWeb, one],
  ["esnext", "bundler", "what target says", [], one],
  ["nodenext", "nodenext", "what target says", [], both],
] as const;

it.each([newest, ...(isThorough ? others : [])])(
  "type-checks a consumer with module %s and resolution %s on %s",
  (module, resolution, _, platform, files) => {
    expect(problems(files, [...platform, "--module", module, "--moduleResolution", resolution])).toBe("");
  },
);

const dist = join(project, "node_modules/cross-border-payments/dist");
const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => /\.d\.c?ts$/.test(file));

it("publishes nothing internal", () => {
  expect(files.length).toBeGreaterThan(5);
  const published = files.map((file) => readFileSync(join(dist, file), "utf8")).join("\n");
  expect(published).toContain("class CrossBorderClient");
  expect(published.match(/@internal|\bApiClient\b|apiClientKey|TypedOperation|className/g)).toBeNull();
});

it("publishes no type of Node, undici or zod", () => {
  const named = files.flatMap((file) => {
    const { importedFiles, typeReferenceDirectives } = ts.preProcessFile(readFileSync(join(dist, file), "utf8"));
    const modules = [...importedFiles, ...typeReferenceDirectives].map(({ fileName }) => fileName);
    return modules.filter((name) => !name.startsWith(".")).map((name) => `${file}: ${name}`);
  });
  expect(named).toEqual([]);
});
