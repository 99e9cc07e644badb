import { type ChildProcess, spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { followPayments } from "../../src/cli/lists/follow.js";
import type { CrossBorderClient, Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { until } from "../support/eventually.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { isThorough } from "../support/thorough.js";
import { registeredClient, requestOf, settingsOf } from "./gateway-fixture.js";
import { recordsIn, run } from "./run.js";

const folder = temporaryFolder();
let server: SandboxServer;
let client: CrossBorderClient;
let env: Record<string, string>;
/** What the service does to requests for lists, for one test. */
let isAway: boolean;
/** Whether they have to wait, and how many do. */
let isSilent: boolean;
let waiting: number;
/** Transaction ids of payments that are not listed yet. */
let unlisted: Set<string>;
const dayMs = 86_400_000;
/** How far the service's clock is behind. It never goes back. */
let behindMs = 3 * dayMs;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  server = await startSandbox({
    now: () => Date.now() - behindMs,
    onRequest({ operation }) {
      if (!operation?.endsWith(".list")) return undefined;
      if (isSilent) {
        waiting += 1;
        return new Promise<undefined>(() => {});
      }
      return isAway ? Response.error() : undefined;
    },
    async onResponse({ operation }, response) {
      if (operation !== "payments.list" || unlisted.size === 0) return undefined;
      const listed = (await response.json()) as Payment[];
      const visible = listed.filter(({ senderGatewayTransactionId: id }) => !unlisted.has(id));
      return Response.json(visible, { status: response.status });
    },
  });
  client = await registeredClient(server);
  writeFileSync(file("config.json"), JSON.stringify(settingsOf(server)));
  env = { CROSS_BORDER_CONFIG: file("config.json") };
});
beforeEach(() => {
  isAway = false;
  isSilent = false;
  waiting = 0;
  unlisted = new Set();
});
afterAll(async () => {
  await client.close();
  await server.close();
});

let paid = 0;
async function pay(receiverAmount = "1.00"): Promise<string> {
  paid += 1;
  const id = `TX-${paid}`;
  await client.pay(requestOf(receiverAmount), () => ({ senderGatewayTransactionId: id }));
  return id;
}

interface Follower {
  readonly process: ChildProcess;
  readonly closed: Promise<number | NodeJS.Signals | null>;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** The command in a process of its own. */
function follow(...line: readonly string[]): Follower {
  const child = spawn(process.execPath, [command, ...line], {
    env: { ...process.env, ...env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      written[name] += text;
    });
  }
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    process: child,
    closed: new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal))),
    stdout: () => written.stdout,
    stderr: () => written.stderr,
  };
}

/** The same in this process, of which a stop is a signal, too. */
function followHere(...line: readonly string[]) {
  const written = { stdout: "", stderr: "" };
  const ended = run(line, {
    env,
    onText(name, text) {
      written[name] += text;
    },
  });
  return {
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    /** The exit code. */
    async stop(signal: NodeJS.Signals): Promise<number> {
      process.emit(signal);
      return (await ended).code;
    },
  };
}

const records: (ndjson: string) => { readonly id: string; readonly senderGatewayTransactionId: string }[] = recordsIn;
const transactions = (ndjson: string) => records(ndjson).map(({ senderGatewayTransactionId: id }) => id);
/** What the service has really stored. */
const stored = () => server.sandbox.payments.map(({ senderGatewayTransactionId: id }) => id);

describe("a list of payments that is followed", () => {
  it("has those that are there and those that come, and ends well at Ctrl-C", async () => {
    await pay();
    const follower = follow("payments", "list", "--follow", "--every", "50ms");
    await until(() => follower.stdout().includes(`"${stored().at(-1)}"`));
    const later = [await pay(), await pay()];
    await until(() => later.every((id) => follower.stdout().includes(`"${id}"`)));
    follower.process.kill("SIGINT");
    expect(await follower.closed).toBe(0);
    expect(transactions(follower.stdout())).toEqual(stored());
    expect(follower.stderr()).toBe("");
  });

  it("has each payment once, whenever its process is killed while payments are made", async () => {
    const line = ["payments", "list", "--follow", "--every", "20ms", "--size", "3"];
    const files = ["--out", file("killed.ndjson"), "--resume", file("killed.progress")];
    const written = () => (existsSync(file("killed.ndjson")) ? readFileSync(file("killed.ndjson"), "utf8") : "");
    const before = paid;
    for (const more of isThorough ? [3, 5, 8, 11] : [3]) {
      const follower = follow(...line, ...files);
      // Each of these rounds begins with payments that nobody followed.
      while (paid < before + more) await pay();
      const wanted = stored().length - 1;
      await until(() => written().split("\n").length > wanted);
      void pay();
      follower.process.kill("SIGKILL");
      expect(await follower.closed).toBe("SIGKILL");
      // What was being written when the power went.
      appendFileSync(file("killed.ndjson"), '{"id":"torn');
    }
    const follower = followHere(...line, ...files);
    const last = await pay();
    await until(() => written().includes(`"${last}"`) && written().endsWith("\n"));
    expect(await follower.stop("SIGTERM")).toBe(0);
    const found = transactions(written());
    expect(found).toHaveLength(new Set(found).size);
    expect(new Set(found)).toEqual(new Set(stored()));
    expect(follower.stdout()).toBe("");
  });

  it("has a payment that is listed after later ones, once, also across a kill", async () => {
    const files = ["--out", file("late.ndjson"), "--resume", file("late.progress")];
    const line = ["payments", "list", "--follow", "--every", "20ms", ...files];
    const written = () => (existsSync(file("late.ndjson")) ? readFileSync(file("late.ndjson"), "utf8") : "");
    const late = await pay();
    const duringKill = await pay();
    unlisted = new Set([late, duringKill]);
    const later = await pay();
    const killed = follow(...line);
    await until(() => written().includes(`"${later}"`));
    unlisted.delete(late);
    await until(() => written().includes(`"${late}"`));
    killed.process.kill("SIGKILL");
    await killed.closed;
    unlisted.delete(duringKill);
    const resumed = followHere(...line);
    await until(() => written().includes(`"${duringKill}"`));
    unlisted.add(`TX-${paid + 1}`);
    const lateAgain = await pay();
    const afterThat = await pay();
    await until(() => written().includes(`"${afterThat}"`));
    // What changes is read then, too, and no news.
    server.sandbox.setReceiverStatus(server.sandbox.payments.at(-1)?.id ?? "", "processed");
    unlisted.delete(lateAgain);
    await until(() => written().includes(`"${lateAgain}"`));
    expect(await resumed.stop("SIGINT")).toBe(0);
    const found = transactions(written());
    expect(found).toHaveLength(new Set(found).size);
    expect(new Set(found)).toEqual(new Set(stored()));
  });

  it("goes on behind payments of earlier days", async () => {
    const files = ["--out", file("days.ndjson"), "--resume", file("days.progress")];
    const line = ["payments", "list", "--follow", "--every", "20ms", ...files];
    const written = () => (existsSync(file("days.ndjson")) ? readFileSync(file("days.ndjson"), "utf8") : "");
    // So many show that paging tokens follow time.
    for (let count = 0; count < 20; count++) await pay();
    behindMs -= 2 * dayMs;
    for (let count = 0; count < 20; count++) await pay();
    for (let run = 0; run < 2; run++) {
      const follower = followHere(...line);
      for (let more = 0; more < 2; more++) {
        const id = await pay();
        await until(() => written().includes(`"${id}"`));
      }
      expect(await follower.stop("SIGINT")).toBe(0);
    }
    expect(transactions(written())).toEqual(stored());
  });

  it("writes at once what is there together", async () => {
    const texts: string[] = [];
    await run(["payments", "list", "--follow", "--every", "1d", "--limit", `${stored().length}`], {
      env,
      onText: (name, text) => void (name === "stdout" && texts.push(text)),
    });
    expect(texts.map(transactions)).toEqual([stored()]);
    const { stdout } = await run(["payments", "list", "--follow", "--size", "3", "--limit", "4"], { env });
    expect(transactions(stdout)).toEqual(stored().slice(0, 4));
  });

  it("notes how far it is also where nothing fits", async () => {
    const files = ["--out", file("none.ndjson"), "--resume", file("none.progress")];
    const follower = followHere("payments", "list", "--follow", "--filter", "memo=none", ...files);
    await until(
      () => existsSync(file("none.progress")) && readFileSync(file("none.progress"), "utf8").includes('"after"'),
    );
    expect(await follower.stop("SIGINT")).toBe(0);
    expect(readFileSync(file("none.ndjson"), "utf8")).toBe("");
  });

  it("leaves nothing behind where its reader stops", async () => {
    const { signal } = new AbortController();
    const options = { everyMs: dayMs, signal, mark: undefined, written: new Set<string>() };
    const news = followPayments(client, { ...options, startAfter: undefined, size: undefined, filter: undefined });
    expect((await news.next()).value?.records).toHaveLength(stored().length);
    await news.return();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("waits while the service is away, and says so once", async () => {
    isAway = true;
    const follower = followHere("payments", "list", "--follow", "--every", "20ms");
    await until(() => follower.stderr() !== "");
    expect(follower.stderr()).toMatch(/^cross-border: payments\.list failed \(\w+\); it is tried again/);
    isAway = false;
    const id = await pay();
    await until(() => follower.stdout().includes(`"${id}"`));
    expect(await follower.stop("SIGINT")).toBe(0);
    expect(transactions(follower.stdout())).toEqual(stored());
    expect(follower.stderr().split("\n").slice(1)).toEqual(["cross-border: the service is there again", ""]);
  });

  it("is told of no attempt that fails where it is not followed, but of the last", async () => {
    isAway = true;
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void random.mockRestore());
    const { code, stderr } = await run(["payments", "list"], { env });
    expect([code, stderr]).toEqual([3, expect.not.stringContaining("it is tried again for as long")]);
  });

  it("ends at Ctrl-C while the service is away", async () => {
    isAway = true;
    const follower = followHere("payments", "list", "--follow", "--every", "20ms");
    await until(() => follower.stderr() !== "");
    expect(await follower.stop("SIGINT")).toBe(0);
  });

  it("shows a table that goes on under one head, and stops after as many as were asked for", async () => {
    const first = await pay("7.50");
    const { code, stdout, stderr } = await run(
      [...["payments", "list", "--follow", "--every", "20ms", "--limit", "1"], "--filter", "receiverAmount=7.5"],
      { env, width: 200, showsProgress: true },
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/\r1 record, \d+ a second.+\n$/);
    const [head = "", row = "", ...rest] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^id +receiver +/);
    const payment = server.sandbox.payments.find(({ senderGatewayTransactionId: id }) => id === first);
    expect(row).toContain(payment?.createdAt ?? "no time");
    expect(row).toContain("7.50");
    expect(rest).toEqual([]);
  });

  it("begins behind a paging token", async () => {
    await pay();
    const after = server.sandbox.payments.at(-1)?.pagingToken ?? "";
    const later = await pay();
    // Longer between two looks at all of them than a timer can wait.
    const { stdout } = await run(
      [...["payments", "list", "--follow", "--every", "1d", "--limit", "1"], "--after", after],
      { env },
    );
    expect(transactions(stdout)).toEqual([later]);
  });
});

describe("another list that is followed", () => {
  const create = (institutionId: string) => client.paymentGateways.create({ institutionId, currency: "EUR" });

  it("has each record once, whenever its process is killed, although there are no paging tokens", async () => {
    const files = ["--out", file("gateways.ndjson"), "--resume", file("gateways.progress")];
    const line = ["payment-gateways", "list", "--follow", "--every", "50ms", ...files];
    const written = () => (existsSync(file("gateways.ndjson")) ? readFileSync(file("gateways.ndjson"), "utf8") : "");
    for (const round of isThorough ? [1, 2, 3] : [1]) {
      const follower = follow(...line);
      const { id } = await create(`gateway-${round}`);
      await until(() => written().includes(`"${id}"`));
      follower.process.kill("SIGKILL");
      await follower.closed;
      await create(`unseen-${round}`);
      appendFileSync(file("gateways.ndjson"), '{"id":"torn');
    }
    const follower = followHere(...line);
    const { id } = await create("the last one");
    await until(() => written().includes(`"${id}"`) && written().endsWith("\n"));
    expect(await follower.stop("SIGINT")).toBe(0);
    const { query } = JSON.parse(readFileSync(file("gateways.progress"), "utf8")) as { query: string };
    expect(JSON.parse(query)).toEqual({
      ...{ service: server.clientOptions.baseUrl, list: "payment-gateways", parent: "" },
      ...{ format: "ndjson", credentials: false, follow: true },
    });
    const stored = server.sandbox.ledger.paymentGateways.map(({ id }) => id);
    expect(
      records(written())
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...stored].sort());
  });

  it("has the records that fit, as many as were asked for", async () => {
    const { id, institutionId } = await create("wanted");
    const line = ["payment-gateways", "list", "--follow", "--filter", `institutionId=${institutionId}`, "--limit", "1"];
    const { code, stdout } = await run(line, { env });
    expect({ code, records: records(stdout) }).toMatchObject({ code: 0, records: [{ id }] });
  });

  it("waits while the service is away", async () => {
    isAway = true;
    const follower = followHere("payment-gateways", "list", "--follow", "--every", "50ms");
    await until(() => follower.stderr() !== "");
    isAway = false;
    await until(() => follower.stdout().split("\n").length > server.sandbox.ledger.paymentGateways.length);
    expect(await follower.stop("SIGINT")).toBe(0);
    expect(follower.stderr()).toContain("the service is there again\n");
  });

  it.each(["payments", "payment-gateways"])("of %s ends at Ctrl-C while the service is silent", async (name) => {
    isSilent = true;
    const follower = followHere(name, "list", "--follow");
    await until(() => waiting > 0);
    // Sooner than by the deadline of the request.
    expect(await Promise.race([follower.stop("SIGINT"), sleep(20_000, "waits")])).toBe(0);
  });
});

it.each<[said: string, line: string[]]>([
  ["--every goes with --follow", ["--every", "1s"]],
  ['--every is a number and a unit (ms, s, m, h or d), such as 30s or 400d, and not "5"', ["--follow", "--every", "5"]],
  ["--follow goes by the order of creation: leave --sort out", ["--follow", "--sort", "createdAt.desc"]],
  ["--resume with --follow writes ndjson", ["--follow", "--format", "csv", "--out", "x", "--resume", "y"]],
  ["--filter: payments have no field amount", ["--follow", "--filter", "amount=1"]],
])("says: %s", async (said, line) => {
  const { code, stderr } = await run(["payments", "list", ...line], { env });
  expect(code).toBe(2);
  expect(stderr).toContain(said);
});

it("does not wait for what waiting can't help", async () => {
  const { password: _, ...config } = JSON.parse(readFileSync(file("config.json"), "utf8"));
  writeFileSync(file("wrong.json"), JSON.stringify({ ...config, password: "wrong" }));
  const wrong = { CROSS_BORDER_CONFIG: file("wrong.json") };
  const { code, stderr } = await run(["payments", "list", "--follow"], { env: wrong });
  expect(code).toBe(3);
  expect(stderr).toMatch(/^cross-border: no access token: .* refused the login with 401/);
});
