import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { until } from "../support/eventually.js";
import { originInTest } from "../support/origin-of.js";
import { command } from "../support/program.js";
import { registeredClient, requestOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const count = 45;
let folder: string;
let server: SandboxServer;
let providerId: string;
let payments: Payment[];
let env: Record<string, string>;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cross-border-lists-"));
  server = await startSandbox();
  await using client = await registeredClient(server, (institutionId) => ({
    name: `${institutionId}, "the" bank`,
    accountVerificationBearerToken: "a secret of the gateway",
  }));
  providerId = (await client.liquidityProviders.create({ firstName: "L", lastName: "Q", email: "l@example.com" })).id;
  for (let index = 1; index <= count; index += 1) {
    const request = requestOf(`${index}.00`, index === 1 ? 'two\r\nlines, "quoted"' : "");
    await client.pay(request, () => ({ senderGatewayTransactionId: `TX-${index}` }));
  }
  payments = await client.payments.list().toArray({ max: 1000 });
  const { baseUrl, auth } = server.clientOptions;
  writeFileSync(file("config.json"), JSON.stringify({ baseUrl, ...pick(auth) }));
  env = { CROSS_BORDER_CONFIG: file("config.json") };
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

function pick({ authUrl, realm, clientId, username, password }: SandboxServer["clientOptions"]["auth"]) {
  return { authUrl, realm, clientId, username, password };
}

/** The service, whose payments have other texts. */
async function serveAltered(alter: (json: string) => string): Promise<string> {
  const altered = createServer(async ({ url, headers }, response) => {
    const { authorization = "" } = headers;
    const listed = await fetch(`${server.url}${url}`, { headers: { authorization } });
    const text = alter(await listed.text());
    response.writeHead(listed.status, { "content-type": "application/json" }).end(text);
  });
  return originInTest(altered);
}

const list = (...line: readonly string[]) => run(line, { env });
const records = (ndjson: string) =>
  ndjson
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

describe("a list", () => {
  it("is an error where pages are empty before its end is shown", async () => {
    let requests = 0;
    const url = await serveAltered((json) => (++requests === 1 ? json : "[]"));
    const settings = { ...JSON.parse(readFileSync(file("config.json"), "utf8")), baseUrl: url };
    writeFileSync(file("lying.json"), JSON.stringify(settings));
    const { code, stderr } = await run(["payments", "list", "--size", "10"], {
      env: { CROSS_BORDER_CONFIG: file("lying.json") },
    });
    expect([code, stderr]).toEqual([3, expect.stringContaining("no longer shows the last record")]);
  });

  it("has every record, one a line", async () => {
    const { code, stdout, stderr } = await list("payments", "list", "--size", "10");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(records(stdout)).toEqual(payments);
  });

  it("takes filters, order, a cursor and a limit", async () => {
    const filtered = await list("payments", "list", "--filter", "receiverAmount=7.00");
    expect(records(filtered.stdout)).toEqual([payments[6]]);
    const newest = await list("payments", "list", "--sort", "pagingToken.desc", "--size", "3", "--limit", "5");
    expect(records(newest.stdout)).toEqual(payments.slice(-5).reverse());
    const first = await list("payments", "list", "--size", "2", "--limit", "3");
    expect(records(first.stdout)).toEqual(payments.slice(0, 3));
    const behind = await list("payments", "list", "--after", payments[40]?.pagingToken ?? "");
    expect(records(behind.stdout)).toEqual(payments.slice(41));
    expect((await list("payments", "list", "--filter", "memo=none", "--format", "csv")).stdout).toBe("");
    let pages = 0;
    const baseUrl = await serveAltered((json) => {
      pages += 1;
      return json;
    });
    await list("payments", "list", "--size", "3", "--limit", "3", "--base-url", baseUrl);
    expect(pages).toBe(1);
  });

  it("is CSV that spreadsheets can read, with every field", async () => {
    const { stdout } = await list("payments", "list", "--format", "csv", "--limit", "2");
    const [head = "", first = ""] = stdout.split(/\r\n(?=TX|[^,]*,2)/);
    expect(head.split(",")).toContain("creationRequestSignatureBase64");
    expect(stdout).toContain('"two\r\nlines, ""quoted"""');
    expect(stdout.endsWith("\r\n")).toBe(true);
    expect(first).toContain(payments[0]?.id);
  });

  it("says which fields a CSV leaves out", async () => {
    const baseUrl = await serveAltered((json) => json.replaceAll('"memo":', '"surcharge":"1","memo":'));
    const { stdout, stderr } = await list("payments", "list", "--format", "csv", "--base-url", baseUrl);
    expect(stdout).not.toContain("surcharge");
    expect(stderr).toBe("cross-border: the CSV has no columns for surcharge; ndjson has them\n");
  });

  it("is a table on a terminal, no wider than that", async () => {
    const { stdout } = await run(["payments", "list", "--limit", "3"], { env, width: 60 });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^id +receiver +/);
    expect(lines.every((line) => line.length <= 60)).toBe(true);
    const { stdout: wide } = await run(["payments", "list", "--limit", "1"], { env, width: 300 });
    expect(wide).toMatch(/\S+ +beta-mobile +1\.00 EUR +pending +\S+Z +alpha-bank +1\.00 EUR\n$/);
  });

  it("lets no record steer the terminal", async () => {
    const steering = "\u001b[2Jred\u009b31m\u007f\u202eevil\u2066\u061c\r";
    const baseUrl = await serveAltered((json) => json.replaceAll('"alpha-bank"', JSON.stringify(steering)));
    for (const format of ["table", "ndjson", "csv"]) {
      const line = ["payments", "list", "--limit", "2", "--format", format, "--base-url", baseUrl];
      const { code, stdout } = await run(line, { env, width: 200 });
      expect(code).toBe(0);
      expect(stdout.replace(/\r?\n/g, "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      expect(stdout).toContain("evil");
      if (format === "ndjson") expect(records(stdout)[0]).toMatchObject({ senderGatewayId: steering });
    }
    // A file has what the record has.
    const { stdout } = await list("payments", "list", "--limit", "1", "--format", "csv", "--base-url", baseUrl);
    expect(stdout).toContain(steering);
  });

  it("leaves credentials out unless they are asked for", async () => {
    const { stdout } = await list("payment-gateways", "list");
    expect(records(stdout)).toHaveLength(2);
    expect(stdout).not.toContain("a secret of the gateway");
    expect((await list("payment-gateways", "list", "--with-credentials")).stdout).toContain("a secret of the gateway");
    for (const format of ["csv", "table"]) {
      expect((await list("payment-gateways", "list", "--format", format)).stdout).not.toContain("a secret of");
    }
    // Of a gateway that stands within another record, too.
    const gateway = {
      gateway: { accountVerificationBearerToken: "a secret within" },
      accountVerificationBearerToken: "b",
    };
    const within = `"sender":${JSON.stringify(gateway)},"memo":`;
    const baseUrl = await serveAltered((json) => json.replaceAll('"memo":', within));
    for (const format of ["ndjson", "csv", "table"]) {
      const line = ["payments", "list", "--format", format, "--limit", "1", "--base-url", baseUrl];
      const { code, stdout: shown } = await run(line, { env, width: 400 });
      expect(code).toBe(0);
      expect(shown).not.toMatch(/a secret within|BearerToken/);
    }
  });

  it("shows ids and receivers whole where a terminal has 80 columns", async () => {
    const { stdout } = await run(["payments", "list", "--limit", "3"], { env, width: 80 });
    for (const { id, receiverGatewayId } of payments.slice(0, 3)) {
      expect(stdout).toMatch(new RegExp(`^${id} +${receiverGatewayId} `, "m"));
    }
    const gateways = (await run(["payment-gateways", "list"], { env, width: 80 })).stdout;
    for (const { id, institutionId } of records((await list("payment-gateways", "list")).stdout)) {
      expect(gateways).toMatch(new RegExp(`^${institutionId} +${id} `, "m"));
    }
  });

  it("writes the fields that are asked for, in their order, as they are", async () => {
    const fields = ["--fields", "memo,id", "--limit", "1"];
    const [{ id = "" } = {}] = payments;
    const memo = 'two\r\nlines, "quoted"';
    expect((await list("payments", "list", ...fields)).stdout).toBe(`${JSON.stringify({ memo, id })}\n`);
    const csv = await list("payments", "list", ...fields, "--format", "csv");
    expect(csv.stdout).toBe(`memo,id\r\n"two\r\nlines, ""quoted""",${id}\r\n`);
    expect((await run(["payments", "list", ...fields], { env, width: 80 })).stdout).toMatch(/^memo +id\n/);
    const unknown = await list("payments", "list", "--fields", "id,reciever");
    expect({ code: unknown.code, stdout: unknown.stdout }).toEqual({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain("--fields: payments have no field reciever");
    for (const name of ["ndjson", "csv", "table"]) {
      const line = ["payment-gateways", "list", "--fields", "name,accountVerificationBearerToken", "--format", name];
      expect((await list(...line)).stdout).not.toContain("a secret of");
      expect((await list(...line, "--with-credentials")).stdout).toContain("a secret of");
    }
  });

  it("keeps formulas of others out of spreadsheets, and out of no JSON", async () => {
    const memo = '=HYPERLINK("https://evil.example")';
    const baseUrl = await serveAltered((json) => json.replaceAll('"memo":""', `"memo":${JSON.stringify(memo)}`));
    const line = ["payments", "list", "--after", payments[40]?.pagingToken ?? "", "--base-url", baseUrl];
    const cell = memo.replaceAll('"', '""');
    expect((await list(...line, "--format", "csv")).stdout).toContain(`,"'${cell}",`);
    expect(records((await list(...line)).stdout)[0]).toMatchObject({ memo });
  });

  it("lets no name that a service makes up steer the terminal, and remembers a few of them", async () => {
    const steering = [
      "\u001b]0;owned\u0007",
      "\u001b[2J",
      "x\ncross-border: all is well",
      "\u061cturned",
      "long".repeat(1e5),
    ];
    let count = 0;
    const baseUrl = await serveAltered((json) =>
      json.replaceAll('"memo":', () => {
        count += 1;
        return `${JSON.stringify(steering[count - 1] ?? `made-up-${count}`)}:"1","memo":`;
      }),
    );
    const { code, stderr } = await list("payments", "list", "--format", "csv", "--base-url", baseUrl);
    expect(code).toBe(0);
    expect(stderr.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(stderr).toContain("no columns for  ]0;owned , ");
    expect(stderr.length).toBeLessThan(1000);
  });

  it.each(["deposits", "withdrawals", "exchange-rates", "transfers"])("can be %s of a provider", async (name) => {
    const { code, stdout, stderr } = await list(name, "list", "--liquidity-provider", providerId);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
    const missing = await list(name, "list");
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("'--liquidity-provider <id>' not specified");
  });

  it.each<[said: string, line: string[]]>([
    ["Allowed choices are table, csv, json, ndjson", ["--format", "xml"]],
    ["Give a whole number from 1", ["--size", "0"]],
    ["--filter id is not FIELD=VALUE", ["--filter", "id"]],
    ["a field is there twice", ["--filter", "memo=a", "--filter", "memo=b"]],
  ])("says: %s", async (said, line) => {
    const { code, stderr } = await list("payments", "list", ...line);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });

  it("shows at a terminal what the service says itself, and nowhere else", async () => {
    const says = { error: "invalid_query", message: "bogus is not a field\u001b[2J\nof DE-1001" };
    const refusing = createServer(({ url }, response) => {
      const status = url?.includes("_size=3") ? 403 : 400;
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(says));
    });
    const line = ["payments", "list", "--base-url", await originInTest(refusing)];
    const seen = await run(line, { env, showsServiceText: true });
    expect(seen.code).toBe(3);
    expect(seen.stderr).toContain("\nThe service says: bogus is not a field [2J of DE-1001\n");
    for (const other of [
      await run([...line, "--no-service-text"], { env, showsServiceText: true }),
      await list(...line),
    ]) {
      expect(other.code).toBe(3);
      expect(other.stderr).toContain("payments.list failed: 400 invalid_query for GET ");
      expect(other.stderr).not.toMatch(/bogus|DE-1001/);
    }
    expect((await list(...line, "--size", "3")).stderr).toMatch(/^cross-border: payments.list failed: 403 /);
  });

  it("says what is wrong with a query, as the library does", async () => {
    const { code, stderr } = await list("payments", "list", "--filter", "_size=1");
    expect(code).toBe(3);
    expect(stderr).toContain("payments.list: ");
  });
});

describe("a list that goes into a file", () => {
  const into = (name: string, ...more: readonly string[]) => ["payments", "list", "--out", file(name), ...more];
  const written = (name: string) => records(readFileSync(file(name), "utf8"));
  const partsOf = (name: string) => readdirSync(folder).filter((other) => other.startsWith(`${name}.`));

  it("is there once it is whole, for its owner alone", async () => {
    writeFileSync(file("whole"), "of yesterday");
    expect(await list(...into("whole", "--size", "10"))).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(written("whole")).toEqual(payments);
    expect([statSync(file("whole")).mode & 0o777, partsOf("whole")]).toEqual([0o600, []]);
    expect((await list(...into("whole", "--filter", "memo=none"))).code).toBe(0);
    expect(written("whole")).toEqual([]);
  });

  it("says how to continue if it fails, and leaves the file as it was", async () => {
    writeFileSync(file("failed"), "of yesterday");
    let pages = 0;
    const baseUrl = await serveAltered((json) => (++pages < 3 ? json : "broken"));
    const { code, stderr } = await list(...into("failed", "--size", "10", "--base-url", baseUrl));
    const [part = ""] = partsOf("failed");
    const so = new RegExp(`^cross-border: ${file(part)} has the records so far; continue with --after (\\S+)\n`);
    expect([code, stderr]).toEqual([3, expect.stringMatching(so)]);
    expect(readFileSync(file("failed"), "utf8")).toBe("of yesterday");
    const [, after = ""] = so.exec(stderr) ?? [];
    expect((await list(...into("failed", "--after", after))).code).toBe(0);
    expect([...written(part), ...written("failed")]).toEqual(payments);
  });

  it.each([
    ["its records have no tokens", "payment-gateways", []],
    ["nothing was written", "payments", []],
    ["it goes downward", "payments", ["--sort", "pagingToken.desc"]],
  ])("leaves nothing behind if it fails and can't be continued: %s", async (_, name, more) => {
    let pages = 0;
    const pagesBefore = more.length > 0 || name !== "payments" ? 1 : 0;
    const baseUrl = await serveAltered((json) => (++pages <= pagesBefore ? json : "broken"));
    const line = [name, "list", "--size", "10", "--out", file("none"), ...more, "--base-url", baseUrl];
    const { code, stderr } = await list(...line);
    expect([code, stderr]).toEqual([3, expect.not.stringContaining("continue with")]);
    expect(partsOf("none")).toEqual([]);
  });

  it.each(["/dev/null", "."])("is refused if something else has its name: %s", async (out) => {
    const { code, stderr } = await list("payments", "list", "--out", out);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`--out ${out}: not a file`)]);
  });
});

it.each([
  ["stdout", []],
  ["a file", ["--out", "ended.ndjson"]],
])("says how to continue a list to %s if it is ended, and ends by the signal", async (_, more) => {
  let pages = 0;
  const slow = createServer(async ({ url, headers }, response) => {
    if (++pages > 2) return;
    const { authorization = "" } = headers;
    const listed = await fetch(`${server.url}${url}`, { headers: { authorization } });
    response.writeHead(listed.status, { "content-type": "application/json" }).end(await listed.text());
  });
  onTestFinished(() => slow.closeAllConnections());
  const line = ["payments", "list", "--size", "10", "--base-url", await originInTest(slow), ...more];
  const child = spawn(process.execPath, [resolve(command), ...line], {
    cwd: folder,
    env: { ...process.env, ...env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [closed, stdout, stderr] = [once(child, "close"), text(child.stdout), text(child.stderr)];
  await until(() => pages > 2);
  child.kill("SIGTERM");
  expect(await closed).toEqual([null, "SIGTERM"]);
  const said = /^cross-border: (?:(\S+) has the records so far; )?continue with --after (\S+)\n$/;
  const [, part, after = ""] = said.exec(await stderr) ?? [];
  const first = part === undefined ? await stdout : readFileSync(file(part), "utf8");
  const rest = await list("payments", "list", "--after", after);
  expect([...records(first), ...records(rest.stdout)]).toEqual(payments);
  expect(part !== undefined).toBe(more.length > 0);
});
