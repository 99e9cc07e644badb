import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { CrossBorderClient, Payment } from "../../src/index.js";
import { type SandboxServer, startSandbox } from "../../src/sandbox/index.js";
import { until } from "../support/eventually.js";
import { command } from "../support/program.js";
import { temporaryFolder } from "../support/temporary-folder.js";
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
/** Whether it refuses every order. */
let isSortRefused: boolean;
/** Paging tokens of gateways, if they have some. */
let tokens: readonly string[] | undefined;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  server = await startSandbox({
    onRequest({ operation, query }) {
      if (!operation?.endsWith(".list")) return undefined;
      if (isSortRefused && /_sort=|other=/.test(query)) {
        return Response.json({ error: "invalid_query", message: "no" }, { status: 400 });
      }
      if (operation === "paymentGateways.list" && tokens !== undefined) {
        const after = Number(new URLSearchParams(query).get("_after") ?? 0);
        const gateways = tokens.map((pagingToken) => ({ id: `g-${pagingToken}`, pagingToken }));
        return Response.json(gateways.filter(({ pagingToken }) => Number(pagingToken) > after));
      }
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
  isSortRefused = false;
  tokens = undefined;
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
    // What it says leads on.
    const [, after = ""] = /^cross-border: continue with --after (\S+)\n$/.exec(follower.stderr()) ?? [];
    const unseen = await pay();
    const { stdout } = await run(["payments", "list", "--after", after], { env });
    expect(transactions(stdout)).toEqual([unseen]);
  });

  it("has a payment that is listed after later ones, once", async () => {
    const late = await pay();
    unlisted = new Set([late]);
    const later = await pay();
    const follower = followHere("payments", "list", "--follow", "--every", "20ms");
    await until(() => follower.stdout().includes(`"${later}"`));
    unlisted.delete(late);
    await until(() => follower.stdout().includes(`"${late}"`));
    // What changes is no news.
    server.sandbox.setReceiverStatus(server.sandbox.payments.at(-1)?.id ?? "", "processed");
    const last = await pay();
    await until(() => follower.stdout().includes(`"${last}"`));
    expect(await follower.stop("SIGINT")).toBe(0);
    expect(transactions(follower.stdout()).sort()).toEqual(stored().sort());
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

  it("waits while the service is away, and says so once", async () => {
    isAway = true;
    const follower = followHere("payments", "list", "--follow", "--every", "20ms");
    await until(() => follower.stderr() !== "");
    expect(follower.stderr()).toMatch(/^cross-border: payments\.list failed: .* Trying again\.\n/);
    isAway = false;
    const id = await pay();
    await until(() => follower.stdout().includes(`"${id}"`));
    expect(await follower.stop("SIGINT")).toBe(0);
    expect(transactions(follower.stdout())).toEqual(stored());
    expect(follower.stderr().split("\n").slice(1)).toEqual([
      "cross-border: the service is back",
      expect.any(String),
      "",
    ]);
  });

  it("is told of no attempt that fails where it is not followed, but of the last", async () => {
    isAway = true;
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void random.mockRestore());
    const { code, stderr } = await run(["payments", "list"], { env });
    expect([code, stderr]).toEqual([3, expect.not.stringContaining("Trying again")]);
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
      [...["payments", "list", "--follow", "--every", "20ms", "--limit", "1"], "--filter", "receiverAmount=7.50"],
      { env, width: 200 },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
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

describe("another list", () => {
  it("says why it can't be followed: its records have no paging tokens", async () => {
    const { code, stderr } = await run(["payment-gateways", "list", "--follow"], { env });
    expect(code).toBe(3);
    expect(stderr).toContain("payment gateways can't be followed: the service lists them without paging tokens");
  });

  it("is followed if they have", async () => {
    tokens = ["1", "2"];
    const { code, stdout } = await run(["payment-gateways", "list", "--follow", "--limit", "2"], { env });
    expect({ code, ids: records(stdout).map(({ id }) => id) }).toEqual({ code: 0, ids: ["g-1", "g-2"] });
  });
});

it("ends at Ctrl-C while the service is silent", async () => {
  isSilent = true;
  const follower = followHere("payments", "list", "--follow");
  await until(() => waiting > 0);
  // Sooner than by the deadline of the request.
  expect(await Promise.race([follower.stop("SIGINT"), sleep(20_000, "waits")])).toBe(0);
});

it("does not wait for what waiting can't help", async () => {
  const { password: _, ...config } = JSON.parse(readFileSync(file("config.json"), "utf8"));
  writeFileSync(file("wrong.json"), JSON.stringify({ ...config, password: "wrong" }));
  const wrong = { CROSS_BORDER_CONFIG: file("wrong.json") };
  const { code, stderr } = await run(["payments", "list", "--follow"], { env: wrong });
  expect(code).toBe(3);
  expect(stderr).toMatch(/^cross-border: Login failed: .* rejected the credentials \(401 invalid_grant\)/);
});
