import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { sources } from "../../src/cli/lists/list.js";
import { parseInstant } from "../../src/cli/options.js";
import type { Payment } from "../../src/index.js";
import { operations } from "../../src/resources/catalogue.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { environmentOf } from "../support/environment.js";
import { until } from "../support/eventually.js";
import { originInTest } from "../support/origin-of.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { registeredClient, requestOf } from "./gateway-fixture.js";
import { recordsIn, run } from "./run.js";

const folder = temporaryFolder();
const secret = "a secret of the gateway";
const oddMemo = 'two\r\nlines, "quoted"';
let server: SandboxServer;
let payments: Payment[];
let env: Record<string, string>;
const file = (name: string) => join(folder, name);
const list = (...line: readonly string[]) => run(["payments", "list", ...line], { env });

/** A payment an hour, from midnight of 1 March on. */
let nowMs = Date.parse("2026-03-01T00:00:00Z");

beforeAll(async () => {
  server = await startSandbox({ now: () => nowMs, tokenLifetimeSeconds: 1_000_000 });
  env = environmentOf(server.clientOptions);
  await using client = await registeredClient(server, () => ({ accountVerificationBearerToken: secret }));
  for (let index = 1; index <= 45; index += 1) {
    const request = requestOf(`${index}.00`, index === 1 ? oddMemo : "");
    await client.pay(request, () => ({ senderGatewayTransactionId: `TX-${index}` }));
    nowMs += 3_600_000;
  }
  payments = await client.payments.list().toArray({ max: 1000 });
});
afterAll(() => server.close());

/** The option for a service whose payments have other texts. */
async function altered(alter: (json: string) => string | undefined): Promise<readonly string[]> {
  const other = createServer(async ({ url, headers: { authorization = "" } }, response) => {
    const json = alter(await (await fetch(`${server.url}${url}`, { headers: { authorization } })).text());
    if (json !== undefined) response.writeHead(200, { "content-type": "application/json" }).end(json);
  });
  onTestFinished(() => other.closeAllConnections());
  return ["--base-url", await originInTest(other)];
}

/** The same, until so many pages were read. */
async function endingAfter(pages: number, end: string | undefined) {
  let read = 0;
  const option = await altered((json) => (++read <= pages ? json : end));
  return { option, read: () => read };
}

it("has every record, one a line", async () => {
  const { code, stdout, stderr } = await list("--size", "10");
  expect({ code, stderr, records: recordsIn(stdout) }).toEqual({ code: 0, stderr: "", records: payments });
});

it("takes filters, an order, a token, and a limit, and reads no page more than it needs", async () => {
  const listed = async (...line: readonly string[]) => recordsIn((await list(...line)).stdout);
  expect(await listed("--filter", "receiverAmount=7.00")).toEqual([payments[6]]);
  const newest = payments.slice(-5).reverse();
  expect(await listed("--sort", "pagingToken.desc", "--size", "3", "--limit", "5")).toEqual(newest);
  expect(await listed("--after", payments[40]?.pagingToken ?? "")).toEqual(payments.slice(41));
  const { option, read } = await endingAfter(9, "");
  expect(await listed("--size", "3", "--limit", "3", ...option)).toEqual(payments.slice(0, 3));
  expect(read()).toBe(1);
});

it.each<[line: string, newest: number, oldest: number]>([
  ["--from 2026-03-02", 45, 25],
  ["--from 2026-03-01T23:00:00Z --to 2026-03-02T01:00:00Z", 25, 24],
  ["--from 2026-03-01T12:00:00.001Z --to 2026-03-01T14:00:00.001Z", 15, 14],
  ["--from 2020-01-01 --to 2030-01-01 --size 20", 45, 1],
  ["--from 2020-01-01 --filter receiverAmount=7.0", 7, 7],
  ["--from 2020-01-01 --size 20 --limit 20", 45, 26],
])("begins and ends in time, the newest first: %s", async (line, newest, oldest) => {
  const { code, stdout, stderr } = await list(...line.split(" "));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(recordsIn(stdout)).toEqual(payments.slice(oldest - 1, newest).reverse());
});

it.each([
  ["2026-03-02", "2026-03-02T00:00:00.000Z"],
  ["today", "2026-03-03T00:00:00.000Z"],
  ["yesterday", "2026-03-02T00:00:00.000Z"],
  ["2026-03-02T00:00:00+03:00", "2026-03-01T21:00:00.000Z"],
])("reads the time %s", (text, time) => {
  const now = vi.spyOn(Date, "now").mockReturnValue(Date.parse("2026-03-03T10:00:00Z"));
  expect(parseInstant(text).toISOString()).toBe(time);
  now.mockRestore();
});

it("is a table on a terminal, no wider than that, with whole ids", async () => {
  const { stdout } = await run(["payments", "list", "--limit", "3"], { env, width: 80 });
  const [head, ...lines] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^id +receiver +received +/);
  expect(lines).toEqual(
    payments.slice(0, 3).map(({ id }) => expect.stringMatching(new RegExp(`^${id} +beta-mobile `))),
  );
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
});

it.each(["table", "ndjson", "csv"])(
  "lets no record steer the terminal, and shows no credential within: %s",
  async (format) => {
    const steering = "\u001b[2Jred\u009b31m\u007f\u202eevil\u2066\u061c\r";
    const within = `"sender":{"accountVerificationBearerToken":"a secret within"},"memo":`;
    const option = await altered((json) =>
      json.replaceAll('"alpha-bank"', JSON.stringify(steering)).replaceAll('"memo":', within),
    );
    const line = ["payments", "list", "--limit", "2", "--format", format, ...option];
    const { code, stdout } = await run(line, { env, width: 400 });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("evil") });
    expect(stdout.replace(/\r?\n/g, "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]|a secret within/u);
  },
);

it.each([
  [true, true, []],
  [false, false, []],
  [false, true, ["--no-service-text"]],
])("shows what the service says itself (%s) at a terminal (%s), and its code everywhere: %j", async (...row) => {
  const [isShown, showsServiceText, more] = row;
  const says = { error: "invalid_query", message: "bogus is not a field\u001b[2J\nof DE-1001" };
  const refusing = createServer((_, response) =>
    response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(says)),
  );
  const line = ["payments", "list", "--base-url", await originInTest(refusing), ...more];
  const { code, stderr } = await run(line, { env, showsServiceText });
  const said = "payments.list failed: 400 invalid_query for GET ";
  expect([code, stderr]).toEqual([3, expect.stringContaining(said)]);
  expect(/\nThe service says: (.*)\n/.exec(stderr)?.[1]).toBe(
    isShown ? "bogus is not a field [2J of DE-1001" : undefined,
  );
  expect(stderr.includes("bogus")).toBe(isShown);
});

describe("into a file", () => {
  const into = (name: string, ...more: readonly string[]) => list("--out", file(name), "--size", "10", ...more);
  const written = (name: string) => recordsIn(readFileSync(file(name), "utf8"));
  const partsOf = (name: string) => readdirSync(folder).filter((other) => other.startsWith(`${name}.`));

  it("is there once it is whole, for its owner alone", async () => {
    writeFileSync(file("whole"), "of yesterday");
    expect(await into("whole")).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(written("whole")).toEqual(payments);
    expect([statSync(file("whole")).mode & 0o777, partsOf("whole")]).toEqual([0o600, []]);
  });

  it("says how to continue if it fails, and leaves the file as it was", async () => {
    writeFileSync(file("failed"), "of yesterday");
    const { option } = await endingAfter(2, "broken");
    const { code, stderr } = await into("failed", ...option);
    const [part = ""] = partsOf("failed");
    const said = new RegExp(`^cross-border: ${file(part)} has the records so far; continue with --after (\\S+)\n`);
    expect([code, stderr]).toEqual([3, expect.stringMatching(said)]);
    expect(readFileSync(file("failed"), "utf8")).toBe("of yesterday");
    expect((await into("failed", "--after", said.exec(stderr)?.[1] ?? "")).code).toBe(0);
    expect([...written(part), ...written("failed")]).toEqual(payments);
  });

  it.each<[why: string, pages: number, more: string[]]>([
    ["nothing was written", 0, []],
    ["it goes downward", 1, ["--sort", "pagingToken.desc"]],
  ])("leaves nothing behind if it fails and can't be continued: %s", async (_, pages, more) => {
    const { option } = await endingAfter(pages, "broken");
    const { code, stderr } = await into("none", ...more, ...option);
    expect([code, stderr]).toEqual([3, expect.not.stringContaining("continue with")]);
    expect(partsOf("none")).toEqual([]);
  });

  it("is refused if something else has its name", async () => {
    const { code, stderr } = await list("--out", "/dev/null");
    expect([code, stderr]).toEqual([2, expect.stringContaining("--out /dev/null: not a file")]);
  });
});

it.each([
  ["stdout", []],
  ["a file", ["--out", "ended.ndjson"]],
])("says how to continue a list to %s if it is ended, and ends by the signal", async (_, more) => {
  const { option, read } = await endingAfter(2, undefined);
  const child = spawn(process.execPath, [resolve(command), "payments", "list", "--size", "10", ...option, ...more], {
    cwd: folder,
    env: { ...process.env, ...env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [closed, stdout, stderr] = [once(child, "close"), text(child.stdout), text(child.stderr)];
  await until(() => read() > 2);
  child.kill("SIGTERM");
  expect(await closed).toEqual([null, "SIGTERM"]);
  const said = /^cross-border: (?:(\S+) has the records so far; )?continue with --after (\S+)\n$/;
  const [, part, after = ""] = said.exec(await stderr) ?? [];
  const first = part === undefined ? await stdout : readFileSync(file(part), "utf8");
  expect([...recordsIn(first), ...recordsIn((await list("--after", after)).stdout)]).toEqual(payments);
  expect(part !== undefined).toBe(more.length > 0);
});

it.each<[said: string, line: string[]]>([
  ["Give a whole number from 1", ["--size", "0"]],
  ["--filter =1 is not FIELD=VALUE", ["--filter", "=1"]],
  ["--filter: the service knows one value per field", ["--filter", "memo=a", "--filter", "memo=b"]],
  ["--filter: payments have no field memos; did you mean memo?", ["--filter", "memos=1"]],
  ["--filter: payments have no field x; they have id, ", ["--filter", "x=1", "--from", "2026-03-02"]],
  ["--fields: payments have no field memos; did you mean memo?", ["--fields", "id,memos"]],
  ["--to requires an earlier --from", ["--to", "today"]],
  ["--to requires an earlier --from", ["--from", "today", "--to", "today"]],
  ["Give a day such as", ["--from", "2026-02-30"]],
  ["Give a day such as", ["--from", "2026-03-02T10:00:00"]],
  ["Give a number and a unit", ["--every=0s"]],
  ["--follow has no end, which --format json needs", ["--follow", "--format", "json"]],
])("refuses: %s %j", async (said, line) => {
  const { code, stdout, stderr } = await run(["payments", "list", ...line]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(said) });
});

describe("every resource", () => {
  const fields = [...operations.values()].flatMap((row) => Object.entries(row.record));
  /** Every field of every record, each credential with the same value, and something for a terminal. */
  const record = Object.fromEntries(fields.map(([name, kind]) => [name, kind === "secret" ? secret : "4711\u001b[2J"]));
  const lines = sources.flatMap(({ name, parents, list: listed, get }) => {
    const owner = parents.flatMap((parent) => [`--${parent}`, "42"]);
    return [
      ...(listed === undefined ? [] : [[name, "list", ...owner]]),
      ...(get === undefined ? [] : [[name, "show", "4711", ...owner]]),
    ];
  });

  it.each(lines.map((line) => [line.join(" "), line] as const))(
    "%s only reads, and shows no credential",
    async (_, line) => {
      const sent: (string | undefined)[] = [];
      const origin = await originInTest(
        createServer(({ method, url = "" }, response) => {
          sent.push(method);
          const body = url.endsWith("/4711") ? record : [record];
          response.setHeader("content-type", "application/json").end(JSON.stringify(body));
        }),
      );
      for (const [more, width] of [
        [[], undefined],
        [[], 4000],
        [["--json"], 80],
      ] as const) {
        const { stdout, stderr } = await run([...line, ...more, "--base-url", origin], {
          env,
          ...(width && { width }),
        });
        expect(stdout, stderr).toContain("4711");
        expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}|a secret/u);
      }
      const asked = await run([...line, "--with-credentials", "--base-url", origin], { env });
      expect(asked.stdout).toContain(secret);
      expect(new Set(sent)).toEqual(new Set(["GET"]));
      if (line.length > 2) expect(await run(line.slice(0, 2), { env })).toMatchObject({ code: 2, stdout: "" });
    },
  );
});
