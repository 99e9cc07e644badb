import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CrossBorderClient, generateSigningKeyPair, type Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
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
  const { privateKey: signingKey, publicKeyBase64: rsaPublicKeyBase64 } = await generateSigningKeyPair();
  await using client = new CrossBorderClient({ ...server.clientOptions, signingKey });
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await client.paymentGateways.create({
      ...{ institutionId, currency: "EUR", rsaPublicKeyBase64, name: `${institutionId}, "the" bank` },
      accountVerificationBearerToken: "a secret of the gateway",
    });
  }
  providerId = (await client.liquidityProviders.create({ firstName: "L", lastName: "Q", email: "l@example.com" })).id;
  for (let index = 1; index <= count; index += 1) {
    const request = {
      ...{ senderGatewayId: "alpha-bank", senderAccount: "DE-1", senderCurrency: "EUR" },
      ...{ receiverGatewayId: "beta-mobile", receiverAccount: "KE-1", receiverCurrency: "EUR" },
      ...{ receiverAmount: `${index}.00`, memo: index === 1 ? 'two\r\nlines, "quoted"' : "" },
    };
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
  await new Promise<void>((resolve) => altered.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void altered.close());
  return `http://127.0.0.1:${(altered.address() as AddressInfo).port}`;
}

const list = (...line: readonly string[]) => run(line, { env });
const records = (ndjson: string) =>
  ndjson
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

describe("a list", () => {
  it("has every record, one a line", async () => {
    const { code, stdout, stderr } = await list("payments", "list", "--size", "10");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(records(stdout)).toEqual(payments);
  });

  it("takes filters, order, a cursor and a limit", async () => {
    const filtered = await list("payments", "list", "--filter", "receiverAmount=7.00");
    expect(records(filtered.stdout)).toEqual([payments[6]]);
    const newest = await list("payments", "list", "--sort", "createdAt.desc", "--size", "3", "--limit", "5");
    expect(records(newest.stdout)).toEqual(payments.slice(-5).reverse());
    const behind = await list("payments", "list", "--after", payments[40]?.pagingToken ?? "");
    expect(records(behind.stdout)).toEqual(payments.slice(41));
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
    expect(lines[0]).toMatch(/^createdAt +receiverGatewayStatus +/);
    expect(lines.every((line) => line.length <= 60)).toBe(true);
    const { stdout: wide } = await run(["payments", "list", "--limit", "1"], { env, width: 300 });
    expect(wide).toMatch(/pending +1\.00 +EUR +1\.00 +EUR +alpha-bank +beta-mobile +\S+\n$/);
  });

  it("lets no record steer the terminal", async () => {
    const steering = "\u001b[2Jred\u009b31m\u007f\u202eevil\u2066\r";
    const baseUrl = await serveAltered((json) => json.replaceAll('"alpha-bank"', JSON.stringify(steering)));
    for (const format of ["table", "ndjson", "csv"]) {
      const line = ["payments", "list", "--limit", "2", "--format", format, "--base-url", baseUrl];
      const { code, stdout } = await run(line, { env, width: 200 });
      expect(code).toBe(0);
      expect(stdout.replace(/\r?\n/g, "")).not.toMatch(/[\p{Cc}\u202e\u2066]/u);
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
    expect(stdout).toContain("  東京銀行東京銀行  beta-mobile");
    const shown = /[\u4e00-\u9fff]/g;
    for (const width of [121, 122, 123, 124, 125]) {
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

  it("says what is wrong with a query, as the library does", async () => {
    const { code, stderr } = await list("payments", "list", "--sort", "createdAt");
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

  it("has each record once, whenever its process is killed", { timeout: 60_000 }, async () => {
    for (const killAt of [2, 10, 20, 34]) {
      const child = spawn(process.execPath, ["--import", "tsx", "src/cli/cli.ts", ...resumed("killed")], {
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
  });

  it("adds what is new when it is called again, in CSV under one head", async () => {
    const line = [...resumed("again", "--format", "csv")];
    expect((await list(...line)).code).toBe(0);
    const first = readFileSync(file("again.ndjson"), "utf8");
    expect((await list(...line)).code).toBe(0);
    expect(readFileSync(file("again.ndjson"), "utf8")).toBe(first);
    expect(first.match(/^id,/gm)).toHaveLength(1);
  });

  it("continues nothing that it can't be sure of", async () => {
    writeFileSync(file("mine.ndjson"), "mine");
    const mine = await list(...resumed("mine"));
    expect(mine.code).toBe(3);
    expect(mine.stderr).toMatch(/mine\.ndjson is not empty, and .*mine\.progress does not say how far it is good/);
    expect(readFileSync(file("mine.ndjson"), "utf8")).toBe("mine");
    // Nor with the progress of another file of which nothing was written.
    writeFileSync(
      file("mine.progress"),
      JSON.stringify({ version: 1, query: "", bytes: 0, records: 0, begun: file("other.ndjson") }),
    );
    expect((await list(...resumed("mine"))).code).toBe(3);
    expect(readFileSync(file("mine.ndjson"), "utf8")).toBe("mine");

    await list(...resumed("short"));
    const other = await list(...resumed("short", "--filter", "memo="));
    expect(other.stderr).toContain("belongs to another list");
    writeFileSync(file("short.ndjson"), "");
    expect((await list(...resumed("short"))).stderr).toContain("it was changed since");
    writeFileSync(file("short.progress"), "{}");
    expect((await list(...resumed("short"))).stderr).toContain("is none that this command has written");
  });

  it("needs paging tokens, and writes nothing without", async () => {
    const line = ["--out", file("gateways.ndjson"), "--resume", file("gateways.progress")];
    const { code, stderr } = await list("payment-gateways", "list", ...line);
    expect(code).toBe(3);
    expect(stderr).toContain("its records have no pagingToken, so there is no cursor to continue with");
    expect(readFileSync(file("gateways.ndjson"), "utf8")).toBe("");
    // What is left behind stands in nobody's way.
    expect((await list("payment-gateways", "list", ...line)).stderr).toBe(stderr);
  });
});
