import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CrossBorderClient } from "cross-border-payments";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { cipher } from "../../flows/flow-fixture.js";
import { postgresOf, sqliteOf } from "../../journals/releases.js";
import { nodeSqlite, openHandle } from "../../journals/sqlite-fixture.js";
import { postgresUrl, sql } from "../../support/database.js";
import { deferred } from "../../support/deferred.js";
import { signingKeysOf } from "../../support/key-pairs.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { recordsIn, run, terminalOf } from "../run.js";
import { type FlowsFixture, journalKinds, openFlowsFixture, request } from "./flows-fixture.js";

const grounds = ["--by", "Olga Operator", "--why", "ticket 4711"];
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
const keysIn = (ndjson: string) => recordsIn(ndjson).map(({ key }) => key);
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Every command that ends by itself. */
const lines = [
  ...[["list"], ["list", "--held"], ["show", "k"]],
  ...["found", "release", "resend"].flatMap((action) => [
    ["resolve", "k", action, ...grounds],
    ["propose", "k", action, ...grounds],
  ]),
  ["approve", "k", "--by", "petra", "--revision", "4"],
  ["refuse", "k", "--by", "petra"],
  ["prune", "--settled-before", "400d"],
];

describe.each(journalKinds)("flows in a journal of $kind", ({ kind, isHere }) => {
  let fixture: FlowsFixture;
  beforeEach(async (context) => {
    if (!isHere) context.skip();
    fixture = await openFlowsFixture(kind);
  });
  afterEach(async () => {
    await fixture[Symbol.asyncDispose]();
  });

  it("are listed as the library lists them, one a line", async () => {
    await fixture.flow.run("paid-1", request);
    await fixture.flow.quote("quoted-1", request);
    await fixture.hold("held-1");
    const { stdout } = await fixture.run(["list"]);
    expect(recordsIn(stdout)).toEqual(plain(await all(fixture.flow.list())));
    const listed = async (...line: string[]) => keysIn((await fixture.run(["list", ...line])).stdout);
    expect(await listed("--phase", "paid")).toEqual(["paid-1"]);
    expect(await listed("--after", "held-1", "--limit", "1")).toEqual(["paid-1"]);
    expect(await listed("--gateway-id", "beta-mobile")).toEqual([]);
    const { stdout: held } = await fixture.run(["list", "--held"]);
    expect(recordsIn(held)).toEqual(plain(await all(fixture.flow.held())));
  });

  it("are sent nothing that writes by any command", async () => {
    await fixture.hold("k");
    const before = fixture.sandbox.requests.length;
    const moved = [fixture.bank.calls, ...fixture.bank.released];
    for (const line of lines) for (const more of [[], ["--yes"]]) await fixture.run([...line, ...more]);
    const requests = fixture.sandbox.requests.slice(before).filter(({ operation }) => operation !== "token");
    expect(requests.filter(({ method, path }) => method !== "GET" && !path.endsWith("/logout"))).toEqual([]);
    expect([fixture.bank.calls, ...fixture.bank.released]).toEqual(moved);
  });

  it("show the reason first if they are held, and everything that is known", async () => {
    await fixture.hold("held-1");
    const { stdout: listed } = await fixture.run(["list", "--held"], { width: 80 });
    expect(listed).toMatch(/^held-1 +No response from the service.* Searched 3 times; the p/m);
    const { stdout } = await fixture.run(["show", "held-1"], { width: 1000 });
    const varying = /20[\d:T.-]+Z|(?<=, by |^intent +)[\w-]+$|\S+…$/gm;
    expect(stdout.replace(varying, "…")).toMatchInlineSnapshot(`
      "key       held-1
      phase     held since …, started …
      revision  4
      from      150.00 EUR, alpha-bank
      to        150.00 EUR, beta-mobile
      intent    …
      money     taken, transaction TX-1
      why       No response from the service (outcome_unknown). Searched 3 times; the payment isn't listed.
      request   POST /payments, signature …
      step      at …: funds-requested, by …
      step      at …: claimed, by …
      step      at …: unknown (outcome_unknown), by …
      step      at …: held (not-found), by …
      "
    `);
  });

  it("belong to the service that is named, and need no base URL then", async () => {
    await fixture.newFlow({ service: "payments-eu" }).run("paid-1", request);
    await fixture.hold("held-1");
    expect(keysIn((await fixture.run(["list"])).stdout)).toEqual(["held-1"]);
    const other = ["--service", "payments-eu"];
    const { stdout, stderr } = await fixture.run(["list", ...other], { env: { CROSS_BORDER_CONFIG: "" } });
    expect(keysIn(stdout)).toEqual(["paid-1"]);
    // Otherwise a wrong base URL would hide the flows that wait for an operator.
    expect(stderr).toContain("not listed: 1 flow of other services or gateways");
    expect((await fixture.run(["show", "held-1", ...other])).code).toBe(3);
  });

  it.each([
    ["found", true, "paid", { status: "paid" }],
    ["release", false, "refused", { status: "rejected" }],
    ["resend", false, "funds-requested", { status: "paid" }],
  ])("are decided on with --yes alone, as they were seen, and continued by the program: %s", async (...row) => {
    const [action, isMade, phase, outcome] = row;
    await fixture.hold("k", isMade);
    const before = await fixture.flow.details("k");
    const decide = (...more: string[]) => fixture.run(["resolve", "k", action, ...grounds, "--json", ...more]);
    expect(JSON.parse((await decide()).stdout)).toMatchObject({ action, isDecided: false, flow: { phase: "held" } });
    expect(await decide("--yes", "--revision", "3")).toMatchObject({ code: 3 });
    expect(await fixture.flow.details("k")).toEqual(before);
    const { calls } = fixture.bank;
    expect(JSON.parse((await decide("--yes", "--revision", "4")).stdout)).toMatchObject({ isDecided: true, phase });
    expect([fixture.bank.calls, fixture.bank.released]).toEqual([calls, []]);
    const ended = await fixture.newFlow({ leaseMs: 60_000 }).run("k", request);
    expect(ended).toMatchObject({ ...outcome, decisions: [{ action, by: "Olga Operator", why: "ticket 4711" }] });
    expect(fixture.bank.released).toEqual(action === "release" ? ["k"] : []);
    expect(fixture.sandbox.payments).toHaveLength(action === "release" ? 0 : 1);
    expect(await decide("--yes")).toMatchObject({ code: 3, stderr: expect.stringContaining("Only held flows") });
  });

  it("are paid with the record that is given, if the payment isn't listed", async () => {
    await fixture.hold("k", true);
    fixture.service.isHidden = true;
    const stdin = JSON.stringify(fixture.sandbox.payments[0]);
    const found = (...more: string[]) =>
      fixture.run(["resolve", "k", "found", ...grounds, "--yes", "--json", ...more], { stdin });
    expect(await found()).toMatchObject({ code: 3, stderr: expect.stringContaining("The payment isn't listed") });
    const { stdout } = await found("--payment", "-");
    expect(JSON.parse(stdout)).toMatchObject({ phase: "paid", paymentId: fixture.sandbox.payments[0]?.id });
  });

  it("take two people if the settings say so: one proposes, another refuses or approves", async () => {
    await fixture.hold("k");
    const two = (...line: string[]) => fixture.run(line, { env: { CROSS_BORDER_PEOPLE: "2" } });
    const approve = (by: string, revision: number) =>
      two("approve", "k", "--by", by, "--revision", `${revision}`, "--yes", "--json");
    const propose = async () => {
      const proposed = await two("propose", "k", "release", "--by", "olga", "--why", "t-1", "--yes", "--json");
      return JSON.parse(proposed.stdout).revision;
    };
    const alone = await two("resolve", "k", "release", "--by", "olga", "--why", "t", "--yes");
    expect([alone.code, alone.stderr]).toEqual([3, expect.stringContaining("a decision takes two people")]);
    expect(await approve("petra", 1)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("There is no proposal"),
    });
    const first = await propose();
    expect(await approve(" OLGA", first)).toMatchObject({ code: 3, stderr: expect.stringContaining("Another person") });
    expect((await two("refuse", "k", "--by", "petra")).code).toBe(0);
    const second = await propose();
    expect((await approve("petra", first)).code).toBe(3);
    expect((await two("show", "k")).stdout).toMatch(/^proposal +\S+: release, by olga: t-1$/m);
    expect(JSON.parse((await approve("petra", second)).stdout)).toMatchObject({ isDecided: true, phase: "refused" });
    const decisions = [{ action: "release", by: "olga", approvedBy: "petra" }];
    expect(await fixture.newFlow({ decisions: { people: 2 } }).run("k", request)).toMatchObject({ decisions });
  });

  it("stay as they are at Ctrl-C during the search, free for the next one", async () => {
    await fixture.hold("k");
    const before = await fixture.flow.details("k");
    let list = (): void => {};
    fixture.service.listed = new Promise((resolve) => {
      list = resolve;
    });
    const resolve = () => fixture.run(["resolve", "k", "release", ...grounds, "--yes"]);
    const resolving = resolve();
    await expect.poll(async () => (await fixture.flow.status("k"))?.owner).toBe("cross-border");
    process.emit("SIGINT");
    expect(await resolving).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('is not finished in phase "held"'),
    });
    expect(await fixture.flow.details("k")).toEqual(before);
    list();
    expect((await resolve()).code).toBe(0);
  });

  it("show what was signed if the service refused the signature", async () => {
    const { baseUrl, gatewayId: _, ...auth } = JSON.parse(readFileSync(fixture.env.CROSS_BORDER_CONFIG ?? "", "utf8"));
    const { privateKey: signingKey, publicKey } = signingKeysOf("stranger");
    await using client = new CrossBorderClient({ baseUrl, auth, signingKey });
    const outcome = await fixture.newFlow({ client }).run("k", request);
    expect(outcome).toMatchObject({ status: "rejected", refusal: { serviceCode: "invalid_signature" } });
    const { claim } = JSON.parse((await fixture.run(["show", "k", "--json"])).stdout);
    for (const [key, code] of [
      [publicKey, 0],
      [signingKeysOf("gateway").publicKey, 1],
    ] as const) {
      const file = join(fixture.folder, "key.pem");
      writeFileSync(file, key);
      const line = ["explain-signature", "--path", claim.path, "--body", "-", "--signature", claim.signature];
      expect(await run([...line, "--public-key", file], { stdin: claim.body })).toMatchObject({ code });
    }
  });

  it("are pruned after --yes alone", async () => {
    for (const key of ["paid-1", "paid-2"]) await fixture.flow.run(key, request);
    await fixture.flow.quote("quoted-1", request);
    await fixture.hold("held-1");
    const prune = (...line: string[]) => fixture.run(["prune", ...line]);
    const dry = await prune("--settled-before", "1ms", "--quoted-before", "1d");
    expect(dry.stdout.replace(/20\S+Z/g, "TIME")).toMatchInlineSnapshot(`
      "Would prune flows from before TIME, of every gateway and service in the journal.
      Would prune quotes from before TIME, of every gateway and service in the journal.
      Nothing was changed. Run it with --yes to prune.
      "
    `);
    expect(JSON.parse((await prune("--settled-before", "1d", "--yes", "--json")).stdout)).toMatchObject({ settled: 0 });
    expect((await prune("--settled-before", "1ms", "--yes")).stdout).toMatch(/^Pruned 2 flows from before 20/);
    const { stdout } = await fixture.run(["show", "paid-1"]);
    expect(stdout).toMatch(/^pruned +at 20/m);
    expect(stdout).not.toContain(request.senderAccount);
    expect(keysIn((await fixture.run(["list", "--held"])).stdout)).toEqual(["held-1"]);
  });

  it("are read with the program's cipher, and named if they can't be", async () => {
    const file = join(fixture.folder, "cipher.mjs");
    writeFileSync(
      file,
      `export const encrypt = (text) => Buffer.from(text).toString("base64");
export const decrypt = (text) => Buffer.from(text, "base64").toString();`,
    );
    await fixture.newFlow({ cipher }).run("sealed-1", request);
    await fixture.flow.run("open-1", request);
    const { code, stdout, stderr } = await fixture.run(["list"]);
    expect([code, keysIn(stdout), stderr]).toEqual([
      1,
      ["open-1"],
      expect.stringContaining('key "sealed-1" can\'t be'),
    ]);
    const shown = await fixture.run(["show", "sealed-1", "--cipher", file]);
    expect(shown.stdout).toMatch(/^payment +\S/m);
  });
});

describe("a journal that the command opens", () => {
  const folder = temporaryFolder();
  const here = ["--base-url", "https://service.test"];

  it("is not made where it is not there", async () => {
    const line = ["flows", "list", "--journal", join(folder, "typo.db"), ...here];
    expect(await run(line)).toMatchObject({ code: 3, stderr: expect.stringContaining("typo.db: file not found") });
  });

  it.skipIf(nodeSqlite === undefined)("is not migrated", async () => {
    const path = sqliteOf("0.3.0");
    const { code, stderr } = await run(["flows", "list", "--journal", path, ...here]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("version 3, this release needs version 4")]);
    expect(openHandle(path).prepare("PRAGMA user_version").all()).toEqual([{ user_version: 3 }]);
  });

  it.skipIf(postgresUrl === "")("is neither made nor migrated in a database", async () => {
    const schema = `flows_${randomBytes(6).toString("hex")}`;
    onTestFinished(() => void sql(`DROP SCHEMA ${schema} CASCADE`));
    await sql(postgresOf("0.3.0", schema));
    for (const name of [schema, "nowhere"]) {
      const env = { CROSS_BORDER_JOURNAL: postgresUrl };
      const { code, stderr } = await run(["flows", "list", "--schema", name, ...here], { env });
      expect([code, stderr]).toEqual([3, expect.stringContaining("migrate")]);
    }
    expect(await sql(`SELECT version FROM ${schema}.cross_border_flows_version`)).toEqual([{ version: 3 }]);
  });

  it.each([
    "postgresql://payments:hunter2hunter2@db.test/bank",
    "postgres://payments@db.test/bank?password=hunter2hunter2",
    "postgresql://payments:hunter2hunter2@db.test:port/bank",
  ])("has no password on the command line, and shows none: %#", async (url) => {
    const { code, stderr } = await run(["flows", "list", "--journal", url, ...here]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("Give the URL in CROSS_BORDER_JOURNAL")]);
    expect(stderr).not.toContain("hunter2");
  });

  it.each<[said: string, line: string[]]>([
    ["journal is missing. Give it as --journal, in CROSS_BORDER_JOURNAL", ["list"]],
    ["--schema and --table are for PostgreSQL", ["list", "--journal", "x.db", "--schema", "bank"]],
    ["can't be loaded", ["list", "--journal", "x.db", "--cipher", "nowhere.mjs"]],
    ["Allowed choices are found, release, resend", ["resolve", "k", "pay", ...grounds]],
    ["--payment is for found only", ["resolve", "k", "release", ...grounds, "--payment", "p.json"]],
    ["--yes needs --revision <number>", ["approve", "k", "--by", "petra", "--yes"]],
    ["gatewayId is missing", ["resolve", "k", "found", ...grounds, "--journal", "x.db"]],
    ["authUrl is missing", ["resolve", "k", "found", ...grounds, "--journal", "x.db", "--gateway-id", "a", "--yes"]],
    ["--settled-before or --quoted-before is missing", ["prune"]],
  ])("says: %s", async (said, line) => {
    const { code, stdout, stderr } = await run(["flows", ...line, ...here]);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(said) });
  });
});

it.each([
  [[], "CREATE TABLE"],
  [["--schema", "bank", "--role", "teller"], 'GRANT USAGE ON SCHEMA "bank" TO "teller"'],
  [["--from", "3"], "ALTER TABLE"],
])("prints the SQL of a journal: %j", async (line, sql) => {
  const { code, stdout } = await run(["flows", "schema", ...line]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(sql) });
});

const kind = journalKinds.find(({ isHere }) => isHere)?.kind;

it.skipIf(kind === undefined)("a desk opens with its address, decides in one name, and moves no money", async () => {
  await using fixture = await openFlowsFixture(kind ?? "");
  await fixture.hold("k");
  const { promise: stopped, resolve: stop } = deferred();
  const terminal = terminalOf({ env: fixture.env, stopped });
  const ended = runCommandLine(fixture.line(["desk", "--user", "olga", "--json"]), terminal);
  const printed = JSON.parse(String(await new Promise((resolve) => terminal.stdout.once("data", resolve))));
  expect(printed).toMatchObject({ user: "olga", people: 1 });
  const { origin } = new URL(printed.url);
  for (const path of ["", "/?key=wrong"]) expect((await fetch(origin + path)).status).toBe(401);
  const opened = await fetch(printed.url, { redirect: "manual" });
  const path = opened.headers.get("location") ?? "";
  const [cookie = "", rest] = opened.headers.get("set-cookie")?.split(/; (.*)/) ?? [];
  // Browsers send it to every port of the host, but to no other path than this.
  expect([opened.status, path, rest]).toEqual([
    303,
    expect.stringMatching(/^\/[\w-]{32}\/$/),
    `HttpOnly; SameSite=Strict; Path=${path}`,
  ]);
  const page = `${origin}${path}?flow=k`;
  /** Fills in the newest page. */
  const post = async (form: Readonly<Record<string, string>>) => {
    const text = await (await fetch(page, { headers: { cookie } })).text();
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? "";
    const body = new URLSearchParams({ token: field("token"), revision: field("revision"), ...form });
    return fetch(page, { method: "POST", redirect: "manual", headers: { cookie, origin }, body });
  };
  expect(await (await post({ do: "show" })).text()).toContain(request.senderAccount);
  expect(String(terminal.stderr.read())).toMatch(/olga saw names and account numbers of "k"/);
  expect((await post({ do: "resolve", action: "release", why: "ticket 4711" })).status).toBe(303);
  expect([await fixture.flow.status("k"), fixture.bank.released]).toMatchObject([{ phase: "refused" }, []]);
  stop();
  expect(await ended).toBe(0);
  await expect(fetch(origin)).rejects.toThrow();
});
