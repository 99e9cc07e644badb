import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { createServer } from "node:http";
import { devNull, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { commands } from "../../src/cli/commands.js";
import { column, formatOf } from "../../src/cli/lists/formats.js";
import { ResumableFile } from "../../src/cli/lists/resumable-file.js";
import type { Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { deferred } from "../support/deferred.js";
import { originInTest } from "../support/origin-of.js";
import { command } from "../support/program.js";
import { isThorough } from "../support/thorough.js";
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
  it.each([
    ["payments", "", "Payments that are listed late are seen for a day .*; filters are compared here."],
    ["deposits", " --liquidity-provider 42", "The whole list is read each time, so that late records are seen too."],
  ])("says how it is called and followed: %s", (name, parent, seen) => {
    const { summary, description, examples } = commands.find((one) => one.name === `${name} list`) ?? {};
    const line = `${name} list --config gateway.json${parent}`;
    const files = `--out ${name}.ndjson --resume ${name}.progress`;
    expect(examples).toEqual([line, `${line} ${files}`, `${line} --follow`]);
    const follow = `With --follow, each record comes once, as it is listed then, .* ${seen} While the service is away, it waits`;
    expect(`${summary} ${description}`).toMatch(
      new RegExp(`^Lists ${name}.* A table on a terminal, .* left out. ${follow}.$`),
    );
  });

  it("is an error, on stdout and in a file, where pages are empty before its end is shown", async () => {
    let requests = 0;
    const url = await serveAltered((json) => (++requests === 1 ? json : "[]"));
    const settings = { ...JSON.parse(readFileSync(file("config.json"), "utf8")), baseUrl: url };
    writeFileSync(file("lying.json"), JSON.stringify(settings));
    for (const line of [[], ["--out", file("cut.ndjson"), "--resume", file("cut.progress")]]) {
      requests = 0;
      const size = ["--size", "10"];
      const { code, stderr } = await run(["payments", "list", ...size, ...line], {
        env: { CROSS_BORDER_CONFIG: file("lying.json") },
      });
      expect([code, stderr]).toEqual([3, expect.stringContaining("nothing shows whether the list goes on")]);
    }
    // What it has is good, and the next call goes on behind it.
    expect(records(readFileSync(file("cut.ndjson"), "utf8"))).toHaveLength(10);
  });

  it("has every record, one a line", async () => {
    const { code, stdout, stderr } = await list("payments", "list", "--size", "10");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(records(stdout)).toEqual(payments);
    const seen = await run(["payments", "list", "--limit", "40"], { env, showsProgress: true });
    expect(seen.stderr).toMatch(/\r40 records, \d+ a second.+\n$/);
  });

  it("takes filters, order, a cursor and a limit", async () => {
    const filtered = await list("payments", "list", "--filter", "receiverAmount=7.00");
    expect(records(filtered.stdout)).toEqual([payments[6]]);
    const newest = await list("payments", "list", "--sort", "createdAt.desc", "--size", "3", "--limit", "5");
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
    expect(stderr).toBe(
      "cross-border: the CSV has no columns for surcharge, which the description does not name; ndjson has them\n",
    );
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

  it("counts two columns for a character that takes two", async () => {
    const baseUrl = await serveAltered((json) => json.replaceAll('"alpha-bank"', '"東京銀行東京銀行"'));
    const line = ["payments", "list", "--limit", "1", "--base-url", baseUrl];
    const { stdout } = await run(line, { env, width: 200 });
    expect(stdout).toContain("  東京銀行東京銀行  1.00 EUR\n");
    const shown = /[\u4e00-\u9fff]/g;
    for (const width of [110, 111, 112, 113, 114]) {
      const [, row = ""] = (await run(line, { env, width })).stdout.split("\n");
      expect(row.length + (row.match(shown)?.length ?? 0)).toBeLessThanOrEqual(width);
      expect(row.at(-1)).toBe("…");
    }
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

  it("writes as many records as a page can have", async () => {
    const page = Array.from({ length: 130_000 }, (_, index) => ({ id: `p-${index}`, receiverGatewayId: "beta" }));
    for (const name of ["table", "csv", "ndjson"] as const) {
      const format = formatOf(name, {
        ...{ fields: { id: "text", receiverGatewayId: "text" }, columns: [column("id")], chosen: undefined },
        ...{ width: 80, withCredentials: false, isRaw: false },
      });
      expect(format.write(page).trimEnd().split("\n")).toHaveLength(name === "table" ? 130_001 : 130_000);
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

  it("keeps formulas of others out of spreadsheets, unless a program reads it", async () => {
    const memo = '=HYPERLINK("https://evil.example")';
    const baseUrl = await serveAltered((json) => json.replaceAll('"memo":""', `"memo":${JSON.stringify(memo)}`));
    const line = ["payments", "list", "--after", payments[40]?.pagingToken ?? "", "--base-url", baseUrl];
    const cell = memo.replaceAll('"', '""');
    expect((await list(...line, "--format", "csv")).stdout).toContain(`,"'${cell}",`);
    expect((await list(...line, "--format", "csv", "--raw")).stdout).toContain(`,"${cell}",`);
    expect(records((await list(...line)).stdout)[0]).toMatchObject({ memo });
    expect((await list(...line, "--raw")).stderr).toContain("--raw is for --format csv: the others are exact");
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
    expect(stderr).toContain('no columns for "\\u001b]0;owned\\u0007", "\\u001b[2J", ');
    expect(stderr).toContain(" and others, which the description does not name");
    expect(stderr.length).toBeLessThan(1000);
  });

  it.each(["deposits", "withdrawals", "exchange-rates", "transfers"])("can be %s of a provider", async (name) => {
    const { code, stdout, stderr } = await list(name, "list", "--liquidity-provider", providerId);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
    const missing = await list(name, "list");
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("--liquidity-provider ID is missing");
  });

  it.each<[said: string, line: string[]]>([
    ["--format is one of table, ndjson, csv", ["--format", "xml"]],
    ["--size is a number from 1 on", ["--size", "0"]],
    ["--filter id is not FIELD=VALUE", ["--filter", "id"]],
    ["--filter memo=… is there twice", ["--filter", "memo=a", "--filter", "memo=b"]],
    ["--out and --resume go together", ["--out", "x"]],
    ["--resume goes by paging tokens, to the end: leave --limit out", ["--out", "x", "--resume", "y", "--limit", "1"]],
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
    expect(seen.stderr).toContain("\nThe service says: invalid_query: bogus is not a field [2J of DE-1001\n");
    for (const other of [
      await run([...line, "--no-service-text"], { env, showsServiceText: true }),
      await list(...line),
    ]) {
      expect(other.code).toBe(3);
      expect(other.stderr).toContain("responded with 400");
      expect(other.stderr).not.toMatch(/bogus|DE-1001/);
    }
    expect((await list(...line, "--size", "3")).stderr).toMatch(/^cross-border: .* responded with 403/);
  });

  it("says what is wrong with a query, as the library does", async () => {
    const { code, stderr } = await list("payments", "list", "--filter", "_size=1");
    expect(code).toBe(3);
    expect(stderr).toContain("payments.list: ");
  });
});

describe("a list that is resumed", () => {
  const resumed = (name: string, ...more: readonly string[]) => [
    ...["payments", "list", "--size", "2"],
    ...["--out", file(`${name}.ndjson`), "--resume", file(`${name}.progress`), ...more],
  ];
  const written = (name: string) => records(readFileSync(file(`${name}.ndjson`), "utf8"));
  const progressOf = (name: string): number => {
    const path = file(`${name}.progress`);
    return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as { records: number }).records : 0;
  };

  const openFiles = () =>
    readdirSync("/proc/self/fd").flatMap((fd) => {
      const path = existsSync(`/proc/self/fd/${fd}`) ? readlinkSync(`/proc/self/fd/${fd}`) : "";
      return path.startsWith(folder) ? [path] : [];
    });
  afterEach(() => {
    if (process.platform === "linux") expect(openFiles()).toEqual([]);
  });

  it("has each record once, whenever its process is killed", async () => {
    for (const killAt of isThorough ? [2, 10, 20, 34] : [10]) {
      const child = spawn(process.execPath, [command, ...resumed("killed")], {
        env: { ...process.env, ...env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
        stdio: ["ignore", "ignore", "inherit"],
      });
      const closed = new Promise((resolve) => child.once("close", resolve));
      while (child.exitCode === null && progressOf("killed") < killAt) await sleep(1);
      child.kill("SIGKILL");
      await closed;
      // What was being written when the power went.
      appendFileSync(file("killed.ndjson"), '{"id":"torn');
    }
    const { code, stdout } = await list(...resumed("killed"));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(written("killed")).toEqual(payments);
  });

  it("begins anew where it was killed before its first page was in the progress", async () => {
    expect((await list(...resumed("first", "--filter", "memo=none"))).code).toBe(0);
    expect(progressOf("first")).toBe(0);
    appendFileSync(file("first.ndjson"), '{"id":"torn');
    expect((await list(...resumed("first"))).code).toBe(0);
    expect(written("first")).toEqual(payments);
    // So has an earlier release begun.
    writeFileSync(
      file("first.progress"),
      JSON.stringify({ version: 1, query: "", begun: file("first.ndjson"), bytes: 0, records: 0 }),
    );
    expect((await list(...resumed("first"))).code).toBe(0);
    expect(written("first")).toEqual(payments);
  });

  it.each(["", '{"ver', '{"version":2,"query":"'])("clears away what a killed run was writing: %j", async (text) => {
    writeFileSync(file("torn.progress.next"), text);
    expect(await list(...resumed("torn"))).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(file("torn.progress.next"))).toBe(false);
    expect(written("torn")).toEqual(payments);
  });

  it("adds what is new when it is called again, in CSV under one head", async () => {
    let pages = 0;
    let isCut = true;
    const baseUrl = await serveAltered((json) => (++pages > 1 && isCut ? "[]" : json));
    const line = ["--format", "csv", "--base-url", baseUrl];
    expect((await run(resumed("again", ...line), { env, width: 80 })).code).toBe(3);
    isCut = false;
    const { stdout } = await list("payments", "list", ...line);
    for (let turn = 0; turn < 3; turn++) {
      expect((await list(...resumed("again", ...line))).code).toBe(0);
      expect(readFileSync(file("again.ndjson"), "utf8")).toBe(stdout);
    }
    expect(stdout).toContain('"two\r\nlines, ""quoted"""');
    expect(stdout.match(/^id,/gm)).toHaveLength(1);
  });

  it("continues nothing that it can't be sure of", async () => {
    writeFileSync(file("mine.ndjson"), "mine");
    const mine = await list(...resumed("mine"));
    expect(mine.code).toBe(3);
    expect(mine.stderr).toMatch(/mine\.ndjson is not empty, and .*mine\.progress does not say how far it is good/);
    expect(readFileSync(file("mine.ndjson"), "utf8")).toBe("mine");
    // Nor with the progress of another file of which nothing was written.
    expect((await list(...resumed("mine", "--filter", "memo=none", "--out", file("other.ndjson")))).code).toBe(0);
    expect((await list(...resumed("mine"))).code).toBe(3);
    expect(readFileSync(file("mine.ndjson"), "utf8")).toBe("mine");

    await list(...resumed("short"));
    const other = await list(...resumed("short", "--filter", "memo="));
    expect(other.stderr).toMatch(
      /short\.progress belongs to another list: \{.*"size":2,.*\}, and not \{.*"memo":"".*\}/,
    );
    await list(...resumed("raw", "--format", "csv", "--raw"));
    const escaped = await list(...resumed("raw", "--format", "csv"));
    expect(escaped.stderr).toMatch(/raw\.progress belongs to another list: \{.*"isRaw":true\}, and not \{/);
    const { size } = statSync(file("short.ndjson"));
    writeFileSync(file("short.ndjson"), "");
    expect((await list(...resumed("short"))).stderr).toMatch(
      new RegExp(
        `has 0 bytes, and not at their end what .*short.progress says of the first ${size}: it was changed since`,
      ),
    );
    const later = readFileSync(file("short.progress"), "utf8").replace('"version":2', '"version":3');
    for (const text of ["{}", '{"version":1,"query":"","bytes":4,"records":1}', later, "torn"]) {
      writeFileSync(file("short.progress"), text);
      expect((await list(...resumed("short"))).stderr).toContain(
        "short.progress is none that this command has written, or was changed since",
      );
    }
  });

  const start = (line: readonly string[], more: object = {}) =>
    spawn(process.execPath, [command, ...line], {
      env: { ...process.env, ...env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
      stdio: ["ignore", "ignore", "pipe"],
      ...more,
    });

  it("refuses one file for both that is not there yet", async () => {
    const line = ["payments", "list", "--out", file("both"), "--resume", join(folder, ".", "both")];
    expect(await list(...line)).toMatchObject({ code: 3, stderr: expect.stringContaining("would be one file") });
    expect(existsSync(file("both"))).toBe(false);
  });

  it("belongs to one run at a time, for as long as that lives", async () => {
    const { promise: released, resolve: release } = deferred();
    let pages = 0;
    const slow = createServer(async ({ url, headers }, response) => {
      pages += 1;
      if (pages > 3) await released;
      const { authorization = "" } = headers;
      const listed = await fetch(`${server.url}${url}`, { headers: { authorization } });
      response.writeHead(listed.status, { "content-type": "application/json" }).end(await listed.text());
    });
    const line = [...resumed("owned"), "--base-url", await originInTest(slow)];
    const child = start(line);
    const closed = new Promise((resolve) => child.once("close", resolve));
    while (progressOf("owned") < 6) await sleep(5);
    // By other paths and links too, and where only one of the files is the same.
    linkSync(file("owned.ndjson"), file("hard.ndjson"));
    symlinkSync(file("owned.progress"), file("soft.progress"));
    const others = [
      [file("owned.ndjson"), file("owned.progress")],
      [file("hard.ndjson"), file("elsewhere.progress")],
      [file("elsewhere.ndjson"), file("soft.progress")],
    ] as const;
    for (const [out, resume] of others) {
      const { code, stderr } = await list("payments", "list", "--out", out, "--resume", resume);
      expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining("another run is writing ") });
    }
    release();
    expect(await closed).toBe(0);
    expect(written("owned")).toEqual(payments);
    for (const name of ["owned.ndjson", "owned.progress"]) expect(statSync(file(name)).mode & 0o777).toBe(0o600);
    // The lock went with its process.
    expect((await list(...line)).code).toBe(0);
  });

  it("goes on behind pages of any length, also where the system takes a part of one at a time", async () => {
    const paths = [file("parts.ndjson"), file("parts.progress"), "q"] as const;
    const pages = [`${"x".repeat(70_000)}\n`, "", "short\n", ""];
    const handle = await open(file("config.json"));
    await handle.close();
    const { write } = Object.getPrototypeOf(handle);
    const inParts = vi.spyOn(Object.getPrototypeOf(handle), "write");
    onTestFinished(() => inParts.mockRestore());
    inParts.mockImplementation(function (this: unknown, ...[bytes, from, length, at]) {
      return write.call(this, bytes, from, Math.ceil(Number(length) / 3), at);
    });
    for (const [index, page] of pages.entries()) {
      await using own = await ResumableFile.open(...paths);
      expect([own.after, own.records]).toEqual([index === 0 ? undefined : `${index}`, index * 2]);
      await own.append(page, 2, `${index + 1}`);
      const { tailBytes } = JSON.parse(readFileSync(paths[1], "utf8"));
      expect(tailBytes).toBe(index < 2 ? 65_536 : 6);
    }
    expect(readFileSync(file("parts.ndjson"), "utf8")).toBe(pages.join(""));
  });

  it("stops where another machine's run has taken its files over", async () => {
    const own = await ResumableFile.open(file("shared.ndjson"), file("shared.progress"), "q");
    await own.append('{"id":1}\n', 1, "1");
    const other = JSON.stringify({ version: 1, query: "q", after: "2", bytes: 9, records: 1 });
    writeFileSync(file("shared.progress"), other);
    await expect(own.append('{"id":3}\n', 1, "3")).rejects.toThrow("was changed while this run went by it");
    await own[Symbol.asyncDispose]();
    expect(readFileSync(file("shared.ndjson"), "utf8")).toBe('{"id":1}\n');
    expect(readFileSync(file("shared.progress"), "utf8")).toBe(other);
  });

  it.each<[what: string, prepare: (out: string, progress: string) => unknown]>([
    ["one file for both", (out) => [out, out]],
    ["one file for both, by a link", (out, progress) => symlinkSync(out, progress)],
    ["one file for both, by a hard link", (out, progress) => linkSync(out, progress)],
    ["the file that progress is written by", (out) => [out, out.replace(/\.next$/, "")]],
    ["a link in the way", (out, progress) => symlinkSync(out, `${progress}.next`)],
    ["a hard link in the way", (out, progress) => linkSync(out, `${progress}.next`)],
    ["another's file in the way", (_, progress) => writeFileSync(`${progress}.next`, "mine")],
    ["a folder", (out, progress) => [dirname(out), progress]],
    ["what is no file", (_, progress) => [devNull, progress]],
    ["a folder for the progress", (_, progress) => mkdirSync(progress)],
  ])("refuses %s, and changes nothing", async (what, prepare) => {
    const name = what.replace(/\W/g, "-");
    const out = file(what.startsWith("the file that") ? `${name}.next` : `${name}.ndjson`);
    writeFileSync(out, "");
    const paths = prepare(out, file(`${name}.progress`)) as readonly [string, string] | undefined;
    const [given, progress] = paths ?? [out, file(`${name}.progress`)];
    const kept = what.endsWith("in the way") ? `${progress}.next` : out;
    const before = readFileSync(kept, "utf8");
    const { code, stderr } = await list("payments", "list", "--out", given, "--resume", progress);
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.not.stringContaining("    at ") });
    expect(stderr.includes("would be one file")).toBe(what.startsWith("one file") || what.startsWith("the file that"));
    expect(stderr.includes(" is no file")).toBe(what === "what is no file");
    const isInTheWay = what.endsWith("in the way");
    expect(stderr.includes(".next is in the way, and none that this command has written")).toBe(isInTheWay);
    expect(existsSync(`${progress}.next`)).toBe(isInTheWay || kept === `${progress}.next`);
    expect(readFileSync(kept, "utf8")).toBe(before);
    expect(readFileSync(out, "utf8")).toBe("");
  });

  it.each<[what: string, edit: (progress: Record<string, unknown>) => object]>([
    ["a shorter length", (progress) => ({ ...progress, bytes: 100 })],
    ["a length of nothing", (progress) => ({ ...progress, bytes: 0 })],
    ["another cursor", (progress) => ({ ...progress, after: payments[3]?.pagingToken })],
    ["another count", (progress) => ({ ...progress, records: 1 })],
    [
      "a shorter length, as an earlier release stores it",
      ({ query, after, records }) => ({
        ...{ version: 1, query, after, records, bytes: 100 },
      }),
    ],
  ])("refuses a state that was edited, with %s, and loses nothing", async (what, edit) => {
    const name = what.replace(/\W/g, "-");
    expect((await list(...resumed(name))).code).toBe(0);
    const before = readFileSync(file(`${name}.ndjson`), "utf8");
    const edited = JSON.stringify(edit(JSON.parse(readFileSync(file(`${name}.progress`), "utf8"))));
    writeFileSync(file(`${name}.progress`), edited);
    const { code, stderr } = await list(...resumed(name));
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining("was changed since") });
    expect(readFileSync(file(`${name}.ndjson`), "utf8")).toBe(before);
    expect(readFileSync(file(`${name}.progress`), "utf8")).toBe(edited);
  });

  it("refuses a file of the same length that was changed", async () => {
    await list(...resumed("sorted"));
    const lines = readFileSync(file("sorted.ndjson"), "utf8").split("\n").slice(0, -1).reverse();
    writeFileSync(file("sorted.ndjson"), `${lines.join("\n")}\n`);
    expect(await list(...resumed("sorted"))).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("changed since"),
    });
  });

  it("goes on where an earlier release has stopped", async () => {
    await list(...resumed("older", "--size", "2"));
    const text = readFileSync(file("older.ndjson"), "utf8").split("\n").slice(0, 5).join("\n").concat("\n");
    const { query } = JSON.parse(readFileSync(file("older.progress"), "utf8")) as { query: string };
    // As the earlier release has written it.
    const service = server.clientOptions.baseUrl;
    const asked = { list: "payments", parent: "", size: 2, format: "ndjson", credentials: false };
    expect(query).toBe(JSON.stringify({ service, ...asked }));
    const after = payments[4]?.pagingToken;
    writeFileSync(file("older.ndjson"), `${text}{"torn`);
    writeFileSync(
      file("older.progress"),
      JSON.stringify({ version: 1, query, after, bytes: Buffer.byteLength(text), records: 5 }),
    );
    expect((await list(...resumed("older"))).code).toBe(0);
    expect(written("older")).toEqual(payments);
  });

  it("needs paging tokens, and writes nothing without", async () => {
    const line = ["--out", file("gateways.ndjson"), "--resume", file("gateways.progress")];
    const { code, stderr } = await list("payment-gateways", "list", ...line);
    expect(code).toBe(3);
    expect(stderr).toContain("its records have no pagingToken, so there is no cursor to continue with");
    expect(readFileSync(file("gateways.ndjson"), "utf8")).toBe("");
    const { query } = JSON.parse(readFileSync(file("gateways.progress"), "utf8")) as { query: string };
    expect(JSON.parse(query)).toMatchObject({ list: "payment-gateways", parent: "" });
    // What is left behind stands in nobody's way.
    expect((await list("payment-gateways", "list", ...line)).stderr).toBe(stderr);
  });
});
