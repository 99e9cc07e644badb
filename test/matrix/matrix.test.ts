import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { intentRequest } from "../support/corridor.js";
import { environmentOf } from "../support/environment.js";
import { type Bundle, bundles, finish } from "./bundles.js";
import { matrix, tableUnder, versionOf } from "./install.js";
import {
  bunBinary,
  nodeBinary,
  serveByWorkerd,
  type Told,
  tellByChromium,
  tellByProcess,
  withWorkerd,
} from "./runtimes.js";
import { type Service, slowMs, startService } from "./service.js";

/** What comes of the steps of `programs/story.js` everywhere. */
const everywhere = {
  rate: "1",
  payment: "paid",
  flow: "paid",
  list: "2 payments",
  once: "possible, 1 made",
  refusal: "BadRequestError, true",
  keys: "true, false",
  deadline: "TimeoutError, none",
  validation: "unexpected_response",
  close: "undefined",
};
const bySockets = { ...everywhere, unsent: "none", tls: "1" };
const byFetch = {
  ...everywhere,
  unsent: "possible",
  tls: expect.stringMatching(/^ConfigError: tls needs the sockets of Node/),
};
/** Why a page that has no other `fetch` makes no payments. */
const inPage = { ...byFetch, once: "done, 2 made", byPage: "ConfigError" };

const serve = (pages?: string) => startService(matrix.project, pages);

/** What the service knows of it: payments, each signed by the key that was registered. @param lost how many it made of the one whose response was lost. */
function expectPaid({ sandbox }: Service, lost = 1): void {
  const creates = sandbox.requests.filter(({ operation }) => operation === "payments.create");
  expect(creates.map(({ signed, status }) => ({ signed, status }))).toEqual(
    Array(2 + lost).fill({ signed: true, status: 200 }),
  );
  expect(sandbox.payments.map(({ receiverAmount }) => receiverAmount)).toEqual(Array(2 + lost).fill("1.50"));
}

function newFolder(): string {
  return mkdtempSync(join(matrix.project, "../run-"));
}

const deno = join(matrix.tools, "node_modules/.bin/deno");

/** Lists of versions in `.ci/run`, by their names. */
const nodes = new Map(
  [...readFileSync(".ci/run", "utf8").matchAll(/^(\w+)_nodes?="?([\d. ]+)"?$/gm)].map(([, name = "", list = ""]) => [
    name,
    list.split(" "),
  ]),
);

it.each<[string, () => string[]]>([
  ["Node", () => [process.execPath]],
  ...(nodes.get("matrix") ?? []).map((version): [string, () => string[]] => [
    `Node ${version}`,
    () => [nodeBinary(matrix.project, version)],
  ]),
  ["Bun", () => [bunBinary(matrix.tools)]],
  ["Deno", () => [deno, "run", "--no-prompt", "--allow-all"]],
])("runs by %s, over undici's sockets", async (_, command) => {
  const service = await serve();
  expect(await tellByProcess(command(), join(matrix.project, "process.js"), newFolder(), service.settings)).toEqual(
    bySockets,
  );
  expectPaid(service);
});

it.each([
  ["Bun", [bunBinary(matrix.tools)]],
  ["Deno", [deno, "run", "--no-prompt", "--allow-all"]],
])("keeps a journal in the SQLite of %s", async (_, command) => {
  const { settings } = await serve();
  const told = await tellByProcess(command, join(matrix.project, "journal.js"), newFolder(), settings);
  expect(told).toEqual({ sqlite: "created: true" });
});

it.each(bundles)("runs as a bundle: $bundler, $format", async (bundle) => {
  const folder = newFolder();
  await bundle.build(matrix, bundle.program, folder);
  finish(bundle, matrix, folder);
  const service = await serve(folder);
  const isPage = bundle.format === "page";
  expect(await tell(bundle, folder, service)).toEqual(
    isPage ? inPage : bundle.format === "Worker" ? byFetch : bySockets,
  );
  expectPaid(service, isPage ? 2 : 1);
});

it.each([
  ["journal.js", { sqlite: "created: true" }],
  ["sandbox.js", { console: "Requests – Sandbox console" }],
])("runs %s as a minified ES module for Node by bun", async (program, told) => {
  const folder = newFolder();
  const bundle = bundles.find(({ bundler, format }) => bundler === "bun" && format === "ES module for Node");
  await bundle?.build(matrix, program, folder);
  // What a bundler leaves out.
  const worker = "sqlite-worker.js";
  copyFileSync(join(matrix.project, "node_modules/cross-border-payments/dist", worker), join(folder, worker));
  const { settings } = await serve();
  expect(await tellByProcess([nodeBinary(matrix.project, "24")], join(folder, program), newFolder(), settings)).toEqual(
    told,
  );
});

/** Bundles find no packages where they run. */
function tell({ format, program }: Bundle, folder: string, { pageUrl, settings }: Service): Promise<Told> {
  if (format === "page") return tellByChromium(matrix.tools, pageUrl);
  if (format === "Worker") return withWorkerd(matrix.tools, folder, settings, (ask) => ask("/story") as Promise<Told>);
  return tellByProcess([process.execPath], join(folder, program), newFolder(), settings);
}

async function buildWorker(program = "worker.js"): Promise<string> {
  const folder = newFolder();
  const bundle = bundles.find(({ format }) => format === "Worker");
  await bundle?.build(matrix, program, folder);
  return folder;
}

it("serves many requests to a Worker with one client and one token", async () => {
  const { sandbox, settings } = await serve();
  const gateways = await withWorkerd(matrix.tools, await buildWorker(), settings, (ask) =>
    Promise.all(Array.from({ length: 20 }, () => ask("/gateways"))),
  );
  expect(gateways).toEqual(Array(20).fill(["alpha-bank", "beta-mobile"]));
  // Another one was for the gateways themselves.
  expect(sandbox.tokenRequests).toHaveLength(2);
});

it("has a token for later requests to a Worker where the one that logged in ended meanwhile", async () => {
  const { sandbox, settings } = await serve();
  const { service } = settings;
  const slow = { ...service, auth: { ...service.auth, authUrl: `${service.baseUrl}/slow` } };
  const told = await withWorkerd(matrix.tools, await buildWorker(), { ...settings, service: slow }, async (ask) => [
    await ask("/gateways", { timeoutMs: slowMs / 5 }),
    await ask("/gateways", { timeoutMs: slowMs * 20 }),
  ]);
  expect(told).toEqual(["TimeoutError", ["alpha-bank", "beta-mobile"]]);
  expect(sandbox.tokenRequests).toHaveLength(2);
});

it("runs the example of a Worker", async () => {
  const env = environmentOf((await serve()).settings.service);
  const transfer = { ...intentRequest, receiverCurrency: "EUR", receiverAmount: "1.50", memo: "" };
  const ask = async (url: string, body: object) => {
    const response = await fetch(`${url}/prices`, { method: "POST", body: JSON.stringify(body) });
    return [response.status, await response.json()];
  };
  const told = await serveByWorkerd(matrix.tools, await buildWorker("prices/worker.ts"), env, async (url) => [
    await ask(url, transfer),
    await ask(url, { ...transfer, receiverAmount: 1.5 }),
    await (await fetch(`${url}/payments`)).json(),
  ]);
  expect(told).toEqual([
    [200, expect.objectContaining({ toPay: "1.50 EUR", rate: "1" })],
    [400, expect.objectContaining({ error: "invalid_argument" })],
    { payments: [] },
  ]);
});

it("has the versions that are documented", () => {
  const ran = [
    ["Node", nodeVersions().join(", ")],
    ["Bun", versionOf("bun")],
    ["Deno", versionOf("deno")],
    ["Cloudflare Workers (workerd)", versionOf("workerd")],
  ];
  const documented = tableUnder("## Runtimes").map(([name, version]) => [name, version]);
  expect(documented.slice(0, ran.length)).toEqual(ran);
});

/** Those above, and those that `.ci/run` runs the tarball or the sources on. */
function nodeVersions(): string[] {
  return [...new Set([...nodes.values()].flat())].sort();
}

it("has the bundles that are documented", () => {
  const made = bundles.map(({ bundler, format, needs }) => [`${bundler} ${versionOf(bundler)}`, format, needs]);
  expect(tableUnder("## Bundles")).toEqual(made);
});
