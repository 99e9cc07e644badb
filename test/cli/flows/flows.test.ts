import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CrossBorderClient } from "cross-border-payments";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { postgresRelease03, sqliteRelease03 } from "../../journals/release-0-3.js";
import { nodeSqlite, openHandle } from "../../journals/sqlite-fixture.js";
import { signingKeysOf } from "../../support/key-pairs.js";
import { command } from "../../support/program.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { recordsIn, run } from "../run.js";
import { type FlowsFixture, journalKinds, openFlowsFixture, postgresUrl, request } from "./flows-fixture.js";

const folder = temporaryFolder();

const grounds = ["--by", "Olga Operator", "--why", "ticket 4711"];

/** Every command that ends by itself. */
const lines = [
  ["list"],
  ["list", "--held"],
  ["list", "--counts"],
  ["show", "order-42"],
  ...["found", "release", "resend"].flatMap((action) => [
    ["resolve", "order-42", action, ...grounds],
    ["propose", "order-42", action, ...grounds],
  ]),
  ["approve", "order-42", "--by", "petra", "--revision", "4"],
  ["refuse", "order-42", "--by", "petra"],
  ["prune", "--settled-before", "400d"],
];

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** A program whose lease outlasts what a busy machine takes for its requests. */
const patient = { leaseMs: 60_000 };

describe.each(journalKinds)("flows in a journal of $kind", ({ kind, isHere }) => {
  let fixture: FlowsFixture;
  beforeEach(async () => {
    if (isHere) fixture = await openFlowsFixture(kind, folder);
  });
  afterEach(async () => {
    if (isHere) await fixture[Symbol.asyncDispose]();
  });

  /** A flow whose request was lost: nobody but the sandbox knows that there is no payment. */
  async function hold(key: string): Promise<void> {
    fixture.fate = "lost";
    const { status } = await fixture.flow.run(key, request);
    expect(status).toBe("held");
    fixture.fate = "made";
  }

  /** A flow whose payment was made, and was not listed while it was looked for. */
  async function holdMade(key: string): Promise<void> {
    fixture.fate = "made, response lost";
    fixture.isHidden = true;
    const { status } = await fixture.flow.run(key, request);
    expect(status).toBe("held");
    fixture.fate = "made";
    fixture.isHidden = false;
  }

  const payments = () => fixture.sandbox.payments.length;
  const phaseOf = async (key: string) => (await fixture.flow.status(key))?.phase;

  it.skipIf(!isHere)("are listed as the library lists them, one a line", async () => {
    await fixture.flow.run("paid-1", request);
    await fixture.flow.quote("quoted-1", request);
    await hold("held-1");
    const { code, stdout, stderr } = await fixture.run(["flows", "list"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const listed = await all(fixture.flow.list());
    expect(recordsIn(stdout)).toEqual(JSON.parse(JSON.stringify(listed)));
    expect(recordsIn(stdout).map(({ key }) => key)).toEqual(["held-1", "paid-1", "quoted-1"]);
    const keysOf = async (...line: string[]) =>
      recordsIn((await fixture.run(["flows", "list", ...line])).stdout).map(({ key }) => key);
    expect(await keysOf("--phase", "paid")).toEqual(["paid-1"]);
    expect(await keysOf("--after", "held-1", "--limit", "1")).toEqual(["paid-1"]);
    expect(await keysOf("--gateway-id", "beta-mobile")).toEqual([]);
    const { stdout: counts } = await fixture.run(["flows", "list", "--counts"]);
    expect(JSON.parse(counts)).toEqual(await fixture.flow.counts());
  });

  it.skipIf(!isHere)("are sent nothing that writes by any command", async () => {
    await hold("order-42");
    const before = fixture.sandbox.requests.length;
    const moved = [fixture.bank.calls, ...fixture.bank.released];
    for (const line of lines) for (const more of [[], ["--yes"]]) await fixture.run(["flows", ...line, ...more]);
    const requests = fixture.sandbox.requests.slice(before).filter(({ operation }) => operation !== "token");
    expect(requests.filter(({ method, path }) => method !== "GET" && !path.endsWith("/logout"))).toEqual([]);
    expect([fixture.bank.calls, ...fixture.bank.released]).toEqual(moved);
  });

  it.skipIf(!isHere)("are a table that fits a narrow window, whatever their keys hold", async () => {
    const key = "order \u001b[2J\u009b31m\u202e 東京";
    await hold(key);
    for (const width of [30, 60, 200]) {
      const { code, stdout } = await fixture.run(["flows", "list"], { width });
      expect(code).toBe(0);
      const [head = "", row = ""] = stdout.split("\n");
      expect(head).toMatch(/^key +phase/);
      expect(row).toContain("東京");
      expect([...row].length).toBeLessThanOrEqual(width);
      const shown = await fixture.run(["flows", "show", key], { width });
      expect(shown.code).toBe(0);
      for (const text of [stdout, shown.stdout]) expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    }
    const json = (await fixture.run(["flows", "show", key, "--json"])).stdout;
    expect(JSON.parse(json)).toMatchObject({ key, phase: "held" });
    expect(json.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    const missing = await fixture.run(["flows", "show", `${key}!`]);
    expect(missing.code).toBe(3);
    expect(missing.stderr.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  it.skipIf(!isHere)("wait for an operator if they are held, with what to decide by", async () => {
    await hold("held-1");
    await fixture.flow.run("paid-1", request);
    const { code, stdout } = await fixture.run(["flows", "list", "--held"]);
    expect(code).toBe(0);
    const held = await all(fixture.flow.held());
    expect(recordsIn(stdout)).toEqual(JSON.parse(JSON.stringify(held)));
    expect(recordsIn(stdout).map(({ key }) => key)).toEqual(["held-1"]);
    const { stdout: table } = await fixture.run(["flows", "list", "--held"], { width: 400 });
    expect(table).toMatch(/^held-1 +No response.*isn't listed\. +150.00 EUR +20\S+Z +beta-mobile$/m);
    const { stdout: narrow } = await fixture.run(["flows", "list", "--held"], { width: 80 });
    expect(narrow).toMatch(/^held-1 +No response from the service.* Searched 3 times; the p/m);

    const { stdout: shown } = await fixture.run(["flows", "show", "held-1"]);
    expect(shown).toMatch(/^phase +held since 20/m);
    expect(shown).toMatch(/^revision +4$/m);
    expect(shown).toMatch(/^money +taken, transaction TX-1$/m);
    expect(shown).toMatch(/^why +No response from the service.* Searched 3 times; the payment isn't listed\.$/m);
    expect(shown).toMatch(/^request +POST \S+, signature \S{16}…$/m);
    expect(shown.match(/^step +at \S+Z: [\w-]+/gm)).toHaveLength(4);
  });

  it.skipIf(!isHere)("belong to the service that is named, and need no base URL then", async () => {
    await fixture.newFlow({ service: "payments-eu" }).run("paid-1", request);
    await hold("held-1");
    const keysOf = async (...line: string[]) =>
      recordsIn((await fixture.run(["flows", "list", ...line])).stdout).map(({ key }) => key);
    expect(await keysOf()).toEqual(["held-1"]);
    expect(await keysOf("--service", "payments-eu")).toEqual(["paid-1"]);
    const { code } = await fixture.run(["flows", "show", "held-1", "--service", "payments-eu"]);
    expect(code).toBe(3);
    const here = fixture.line(["flows", "show", "paid-1", "--service", "payments-eu"]);
    expect((await run(here, { env: { ...fixture.env, CROSS_BORDER_CONFIG: "" } })).code).toBe(0);
  });

  it.skipIf(!isHere)("are not changed before --yes, which says what has to be known", async () => {
    await hold("held-1");
    const before = await fixture.rows();
    for (const action of ["found", "release", "resend"]) {
      const { code, stdout } = await fixture.run(["flows", "resolve", "held-1", action, ...grounds]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^needs +The (service's own record|word of the service's operators) /m);
      expect(stdout).toMatch(/\nNothing was changed\. Run it with --yes to decide\.\n$/);
      const { stdout: json } = await fixture.run(["flows", "resolve", "held-1", action, ...grounds, "--json"]);
      expect(JSON.parse(json)).toMatchObject({ key: "held-1", action, isDecided: false, flow: { phase: "held" } });
    }
    expect(await fixture.rows()).toEqual(before);
  });

  it.skipIf(!isHere)("are paid if the payment is found", async () => {
    await holdMade("held-1");
    const { code, stdout } = await fixture.run(["flows", "resolve", "held-1", "found", ...grounds, "--yes"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^phase +paid$/m);
    const outcome = (await fixture.flow.status("held-1"))?.outcome;
    expect(outcome).toMatchObject({
      status: "paid",
      payment: { id: fixture.sandbox.payments[0]?.id },
      decisions: [{ action: "found", by: "Olga Operator", why: "ticket 4711" }],
    });
    expect(payments()).toBe(1);
    const again = await fixture.run(["flows", "resolve", "held-1", "release", ...grounds, "--yes"]);
    expect(again.code).toBe(3);
    expect(again.stderr).toContain("is paid. Only held flows can be resolved");
  });

  it.skipIf(!isHere)("are paid with the record that is given, and with no other", async () => {
    await holdMade("held-1");
    await hold("held-2");
    fixture.isHidden = true;
    const found = (key: string, ...more: string[]) =>
      fixture.run(["flows", "resolve", key, "found", ...grounds, "--yes", ...more], {
        stdin: JSON.stringify(fixture.sandbox.payments[0]),
      });
    const unseen = await found("held-1");
    expect(unseen.code).toBe(3);
    expect(unseen.stderr).toContain("The payment isn't listed");
    const other = await found("held-2", "--payment", "-");
    expect(other.code).toBe(3);
    expect(other.stderr).toContain("or the record that was given is another payment's");
    expect(await phaseOf("held-2")).toBe("held");
    const { code, stdout } = await found("held-1", "--payment", "-", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ key: "held-1", action: "found", isDecided: true },
      ...{ phase: "paid", paymentId: fixture.sandbox.payments[0]?.id },
    });
  });

  it.skipIf(!isHere)("are released by their program, once it is decided", async () => {
    await hold("held-1");
    const { calls } = fixture.bank;
    const { code, stdout } = await fixture.run(["flows", "resolve", "held-1", "release", ...grounds, "--yes"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^phase +refused$/m);
    expect(stdout).toMatch(/^then +The program calls releaseFunds/m);
    expect([fixture.bank.released, fixture.bank.calls]).toEqual([[], calls]);
    const [outcome] = await all(fixture.newFlow(patient).recover());
    expect(outcome).toMatchObject({ status: "rejected", decisions: [{ action: "release", by: "Olga Operator" }] });
    expect(fixture.bank.released).toEqual(["held-1"]);
    const { stdout: shown } = await fixture.run(["flows", "show", "held-1"]);
    expect(shown).toMatch(/^money +taken and given back, transaction TX-1$/m);
    expect(payments()).toBe(0);
  });

  it.skipIf(!isHere)("are not released while the payment is listed, with proof or without", async () => {
    await holdMade("held-1");
    const release = (...more: string[]) =>
      fixture.run(["flows", "resolve", "held-1", "release", ...grounds, "--yes", ...more]);
    const found = await release();
    expect(found.code).toBe(3);
    expect(found.stderr).toContain("The payment is listed: it was made. Resolve the flow as found.");
    expect((await release("--without-proof")).stderr).toContain("The payment is listed");
    expect(await phaseOf("held-1")).toBe("held");
    expect(fixture.bank.released).toEqual([]);
  });

  it.skipIf(!isHere)("are sent again by their program, once it is decided, and paid once", async () => {
    await hold("held-1");
    const { code, stdout } = await fixture.run(["flows", "resolve", "held-1", "resend", ...grounds, "--yes"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^phase +funds-requested$/m);
    expect(payments()).toBe(0);
    const [outcome] = await all(fixture.newFlow(patient).recover());
    expect(outcome).toMatchObject({ status: "paid", decisions: [{ action: "resend", why: "ticket 4711" }] });
    expect(payments()).toBe(1);
    expect(fixture.bank.released).toEqual([]);
  });

  it.skipIf(!isHere)("are left alone by another operator while one decides", async () => {
    await hold("held-1");
    const resolve = (action: string) =>
      fixture.run(["flows", "resolve", "held-1", action, ...grounds, "--yes"]).then(({ code }) => code);
    const codes = await Promise.all([resolve("release"), resolve("resend"), resolve("release")]);
    expect(codes.sort()).toEqual([0, 3, 3]);
    expect(await all(fixture.newFlow(patient).recover())).toHaveLength(1);
    expect(payments() + fixture.bank.released.length).toBe(1);
  });

  it.skipIf(!isHere)("are decided on only as they were seen", async () => {
    await hold("held-1");
    const resolve = (revision: string) =>
      fixture.run(["flows", "resolve", "held-1", "release", ...grounds, "--yes", "--revision", revision]);
    const other = await resolve("3");
    expect([other.code, other.stderr]).toEqual([3, expect.stringContaining("The flow has changed")]);
    expect(await phaseOf("held-1")).toBe("held");
    expect((await resolve("4")).code).toBe(0);
  });

  it.skipIf(!isHere)("stay as they are at Ctrl-C during the search, free for the next one", async () => {
    await hold("held-1");
    const before = await fixture.flow.details("held-1");
    let list = (): void => {};
    fixture.listed = new Promise((resolve) => {
      list = resolve;
    });
    const line = fixture.line(["flows", "resolve", "held-1", "release", ...grounds, "--yes"]);
    const child = spawn(process.execPath, [command, ...line], {
      env: { ...process.env, ...fixture.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const closed = new Promise((resolve) => child.once("close", resolve));
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    await expect.poll(async () => (await fixture.flow.status("held-1"))?.owner).toBe("cross-border");
    child.kill("SIGINT");
    expect(await closed).toBe(130);
    expect(said).toContain('is not finished in phase "held"');
    expect(await fixture.flow.details("held-1")).toEqual(before);
    fixture.listed = undefined;
    list();
    const { code } = await fixture.run(["flows", "resolve", "held-1", "release", ...grounds, "--yes"]);
    expect(code).toBe(0);
  });

  it.skipIf(!isHere)("show what was signed if the service refused the signature", async () => {
    const settings = JSON.parse(readFileSync(fixture.env.CROSS_BORDER_CONFIG ?? "", "utf8"));
    const { baseUrl, gatewayId, ...auth } = settings;
    const { privateKey: signingKey, publicKey } = signingKeysOf("stranger");
    await using client = new CrossBorderClient({ baseUrl, auth, signingKey });
    const outcome = await fixture.newFlow({ client }).run("refused-1", request);
    expect(outcome).toMatchObject({ status: "rejected", refusal: { serviceCode: "invalid_signature" } });

    const { claim } = JSON.parse((await fixture.run(["flows", "show", "refused-1", "--json"])).stdout);
    const { path, body, signature } = claim;
    const [gateway] = recordsIn(
      (
        await run(["payment-gateways", "list", "--json"], {
          env: { ...fixture.env, CROSS_BORDER_PASSWORD: auth.password },
        })
      ).stdout,
    ).filter(({ institutionId }) => institutionId === gatewayId);
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const registered = file("registered.pem", Buffer.from(gateway.rsaPublicKeyBase64, "base64").toString());
    const signer = file("signer.pem", publicKey);
    const line = ["explain-signature", "--path", path, "--body", file("body.json", body)];
    const signed = ["--signature-file", file("signature.txt", `${signature}\n`)];
    const wrong = await run([...line, ...signed, "--public-key", registered]);
    expect(wrong.stdout).toContain("it was not made with the registered key");
    expect((await run([...line, ...signed, "--public-key", signer])).code).toBe(0);
  });

  it.skipIf(!isHere)("are pruned after --yes alone, and what was counted before", async () => {
    await fixture.flow.run("paid-1", request);
    await fixture.flow.run("paid-2", request);
    await fixture.flow.quote("quoted-1", request);
    await hold("held-1");
    const before = await fixture.rows();
    const ages = ["--settled-before", "1ms", "--quoted-before", "1d"];
    const dry = await fixture.run(["flows", "prune", ...ages]);
    expect(dry.code).toBe(0);
    expect(dry.stdout).toMatch(/^There are 2 flows from before \S+Z and 0 quotes from before \S+Z of \S+\n/);
    expect(dry.stdout).toMatch(/\nNothing was changed\. With --yes they are pruned\.\n$/);
    expect(await fixture.rows()).toEqual(before);
    const old = await fixture.run(["flows", "prune", "--settled-before", "1d", "--yes", "--json"]);
    expect(JSON.parse(old.stdout)).toMatchObject({ isDone: true, settled: 0, quoted: 0 });
    const done = await fixture.run(["flows", "prune", ...ages, "--yes", "--json"]);
    expect(JSON.parse(done.stdout)).toMatchObject({ isDone: true, settled: 2, quoted: 0 });
    const rows = await fixture.rows();
    expect(rows.map(({ key, data }) => [key, data === ""])).toEqual([
      ["held-1", false],
      ["paid-1", true],
      ["paid-2", true],
      ["quoted-1", false],
    ]);
    const { stdout } = await fixture.run(["flows", "show", "paid-1"]);
    expect(stdout).toMatch(/^pruned +at 20/m);
    expect(stdout).not.toContain("DE-0001");
  });

  it.skipIf(!isHere)("are read with the program's cipher, and named if they can't be", async () => {
    const cipher = join(folder, `cipher-${kind}.mjs`);
    writeFileSync(
      cipher,
      `export const encrypt = (text) => Buffer.from(text).toString("base64");
export const decrypt = (text) => Buffer.from(text, "base64").toString();`,
    );
    const { encrypt, decrypt } = await import(cipher);
    await fixture.newFlow({ cipher: { encrypt, decrypt } }).run("sealed-1", request);
    await fixture.flow.run("open-1", request);
    const without = await fixture.run(["flows", "list"]);
    expect(without.code).toBe(1);
    expect(recordsIn(without.stdout).map(({ key }) => key)).toEqual(["open-1"]);
    expect(without.stderr).toMatch(/^cross-border: the journal's entry for key "sealed-1" can't be read/);
    const withCipher = await fixture.run(["flows", "show", "sealed-1", "--cipher", cipher]);
    expect(withCipher.code).toBe(0);
    expect(withCipher.stdout).toMatch(/^payment +\S/m);
  });
});

describe("a journal that the command opens", () => {
  const here = ["--base-url", "https://service.test"];
  const list = (journal: string, ...more: readonly string[]) =>
    run(["flows", "list", "--journal", journal, ...here, ...more]);

  it("is not made where it is not there", async () => {
    const path = join(folder, "typo.db");
    const { code, stderr } = await list(path);
    expect(code).toBe(3);
    expect(stderr).toContain("typo.db: file not found");
    expect(readdirSync(folder)).not.toContain("typo.db");
  });

  it.skipIf(nodeSqlite === undefined)("is not migrated", async () => {
    const path = join(folder, "release-0-3.db");
    const handle = openHandle(path);
    handle.exec(sqliteRelease03);
    const { code, stderr } = await list(path);
    expect(code).toBe(3);
    expect(stderr).toContain("version 3, this release needs version 4, and migrate is false");
    expect(handle.prepare("PRAGMA user_version").all()).toEqual([{ user_version: 3 }]);
  });

  it.skipIf(postgresUrl === "")("is not migrated in a database either", async () => {
    const schema = `flows_${randomBytes(6).toString("hex")}`;
    const pool = new pg.Pool({ connectionString: postgresUrl, max: 1 });
    onTestFinished(async () => {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    });
    await pool.query(postgresRelease03(schema));
    const { code, stderr } = await run(["flows", "list", "--schema", schema, ...here], {
      env: { CROSS_BORDER_JOURNAL: postgresUrl },
    });
    expect(code).toBe(3);
    expect(stderr).toContain("migrate");
    const { rows } = await pool.query(`SELECT version FROM ${schema}.cross_border_flows_version`);
    expect(rows).toEqual([{ version: 3 }]);
  });

  it.skipIf(postgresUrl === "")("is not made in a database without one", async () => {
    const { code, stderr } = await run(["flows", "list", "--schema", "nowhere", ...here], {
      env: { CROSS_BORDER_JOURNAL: postgresUrl },
    });
    expect(code).toBe(3);
    expect(stderr).toContain("migrate");
  });

  it("has no password on the command line, and shows none", async () => {
    for (const url of [
      "postgresql://payments:hunter2hunter2@db.test/bank",
      "postgres://payments@db.test/bank?password=hunter2hunter2",
      "postgresql://payments:hunter2hunter2@db.test:port/bank",
    ]) {
      const { code, stderr } = await list(url);
      expect(code).toBe(2);
      expect(stderr).toContain("Give the URL in CROSS_BORDER_JOURNAL");
      expect(stderr).not.toContain("hunter2");
    }
  });

  it.each<[said: string, line: string[]]>([
    ["journal is missing. Give it as --journal, in CROSS_BORDER_JOURNAL", ["list"]],
    ["'--held' cannot be used with option '--phase", ["list", "--held", "--phase", "paid"]],
    ["Allowed choices are quoted, funds-requested", ["list", "--phase", "lost"]],
    ["Give a whole number from 1", ["list", "--limit", "0"]],
    ["Allowed choices are many, one", ["list", "--journal", "x.db", "--processes", "two"]],
    ["--schema and --table are for PostgreSQL", ["list", "--journal", "x.db", "--schema", "bank"]],
    ["--processes is for a SQLite file", ["list", "--journal", "postgresql://db.test", "--processes", "one"]],
    ["can't be loaded", ["list", "--journal", "x.db", "--cipher", "nowhere.mjs"]],
    ["missing required argument 'key'", ["show"]],
    ["ACTION is one of found, release, resend", ["resolve", "k", "pay", ...grounds]],
    ["'--by <name>' not specified", ["resolve", "k", "found"]],
    ["--payment is for found only", ["resolve", "k", "release", ...grounds, "--payment", "p.json"]],
    ["Give a whole number from 1", ["resolve", "k", "found", ...grounds, "--revision", "0"]],
    ["--yes needs --revision <number>", ["approve", "k", "--by", "petra", "--yes"]],
    ["gatewayId is missing", ["resolve", "k", "found", ...grounds, "--journal", "x.db"]],
    ["authUrl is missing", ["resolve", "k", "found", ...grounds, "--journal", "x.db", "--gateway-id", "a", "--yes"]],
    ["--settled-before or --quoted-before is missing", ["prune"]],
    ["Give a number and a unit", ["prune", "--quoted-before", "7"]],
  ])("says: %s", async (said, line) => {
    const { code, stdout, stderr } = await run(["flows", ...line, ...here]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(said);
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
