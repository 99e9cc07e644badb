import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { SandboxRequest, SandboxServerOptions } from "../../../src/sandbox/index.js";
import { openProbe, valuesOf } from "./probe-fixture.js";

/** What the service, or something on the way to it, does other than the sandbox. */
interface Oddity {
  readonly options?: SandboxServerOptions;
  readonly payments?: number;
  readonly patience?: string;
  readonly before?: (request: SandboxRequest) => Promise<Response | undefined> | Response | undefined;
  readonly after?: (request: SandboxRequest, response: Response) => Promise<Response> | Response;
  /** While it is probed: before each list of payments. */
  readonly others?: (pay: () => Promise<void>, request: SandboxRequest) => Promise<void>;
}

const writing = /^(signature|creates|amounts|memo|extras|updates|intents|payments)\b/;

/** Asks one question; the report too. */
async function asked(question: string, oddity: Oddity) {
  let [isProbed, isOther] = [false, false];
  const options: SandboxServerOptions = {
    ...oddity.options,
    async onRequest(request) {
      if (!isProbed || isOther) return undefined;
      if (request.operation === "payments.list" && oddity.others !== undefined) {
        isOther = true;
        await oddity.others(fixture.pay, request);
        isOther = false;
      }
      return oddity.before?.(request);
    },
    onResponse: (request, response) =>
      isProbed && !isOther && oddity.after !== undefined ? oddity.after(request, response) : undefined,
  };
  await using fixture = await openProbe(options, oddity.payments ?? 12);
  isProbed = true;
  const writes = writing.test(question) ? [...fixture.writes, "--trials", "2"] : [];
  const line = ["--patience", oddity.patience ?? "1s", "--only", question, ...writes];
  const { report } = await fixture.probe(line);
  return { value: valuesOf(report)[question] as unknown, says: report.questions[0]?.says, report };
}

const isOf = (operation: string) => (request: SandboxRequest) => request.operation === operation;
const failing = (status: number) => new Response("busy", { status, headers: { "content-type": "text/html" } });

/** Each record of a response, changed. */
async function changed(response: Response, change: (row: Record<string, unknown>, index: number) => object) {
  if (response.status !== 200) return response;
  const json = (await response.json()) as Record<string, unknown> | Record<string, unknown>[];
  return Response.json(Array.isArray(json) ? json.map(change) : change(json, 0), { headers: response.headers });
}

const onPayments =
  (change: (row: Record<string, unknown>, index: number) => object) => (request: SandboxRequest, response: Response) =>
    /^payments\.(list|create)$/.test(request.operation ?? "") ? changed(response, change) : response;

/** The place of a token among all, of which the first list has every one. */
function ranks() {
  const known: unknown[] = [];
  return (token: unknown) => {
    if (!known.includes(token)) known.push(token);
    return known.indexOf(token);
  };
}

/** A list of payments, by another query. */
const listBy = ({ headers }: SandboxRequest, query: URLSearchParams) =>
  fetch(`http://${headers.get("host")}/payments?${query}`, {
    headers: { authorization: headers.get("authorization") ?? "" },
  });

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.concurrent("what fails for a while is no answer", () => {
  it.each<[question: string, isIt: (request: SandboxRequest) => boolean]>([
    ["size.default", ({ operation, query }) => operation === "payments.list" && query === ""],
    ["size.largest", ({ query }) => query.includes("_size=1000")],
    ["filters.unknown", ({ query }) => query.includes("noSuch")],
    ["filters.payments", ({ query }) => /senderGatewayId=[0-9a-f]{8}-/.test(query)],
    ["filters.payments", ({ query }) => query.includes("senderGatewayTransactionId")],
    ["sort", ({ query }) => query.includes("id.desc")],
    ["errors.400", ({ query }) => /_size=x|_sort=|_after=/.test(query)],
    ["errors.401", ({ path, headers }) => path.endsWith("/payments") && headers.get("authorization") === null],
    ["errors.404", ({ operation }) => operation === "paymentGateways.get"],
    ["latency", isOf("payments.list")],
    ["compression", isOf("payments.list")],
    ["updates", isOf("paymentGateways.get")],
  ])("%s", async (question, isIt) => {
    const { value } = await asked(question, { before: (request) => (isIt(request) ? failing(503) : undefined) });
    expect(value).toMatch(/^open: (?!there are only)/);
  });

  it("a token that is used when the service is not there", async () => {
    let lists = 0;
    const before = (request: SandboxRequest) =>
      isOf("payments.list")(request) && ++lists > 0 ? failing(502) : undefined;
    const oddity = { options: { tokenLifetimeSeconds: 1 }, patience: "2s", before };
    expect((await asked("session.lifetime", oddity)).value).toMatch(/^open: /);
  });

  it("a signature that is wrong", async () => {
    let payments = 0;
    const before = (request: SandboxRequest) =>
      isOf("payments.create")(request) && ++payments === 4 ? failing(503) : undefined;
    expect((await asked("signature.wrong", { before })).value).toMatch(/^open: /);
  });

  it("a size between", async () => {
    let lists = 0;
    const before = (request: SandboxRequest) =>
      isOf("payments.list")(request) && ++lists === 4 ? failing(503) : undefined;
    const oddity: Oddity = { options: { maxSize: 600, quirks: { oversize: "refused" } }, before };
    expect((await asked("size.largest", oddity)).value).toMatch(/^open: /);
  });
});

describe.concurrent("others make payments meanwhile", () => {
  it("a page that is not full is no default size", async () => {
    const { value } = await asked("size.default", { others: async (pay) => pay() });
    expect(value).toMatch(/^open: /);
  });

  it("a list is no largest size", async () => {
    const { value } = await asked("size.largest", { others: async (pay) => pay() });
    expect(value).toMatch(/^open: /);
  });

  it("an order that is not kept to is ignored", async () => {
    const oddity: Oddity = {
      options: { quirks: { ignoredSort: "all", newestFirst: true } },
      others: async (pay) => pay(),
    };
    expect((await asked("sort", oddity)).value).toMatchObject({ createdAt: "ignored", id: "ignored" });
  });

  it("a payment that they push off the newest page has not disappeared", async () => {
    let looks = 0;
    const others: Oddity["others"] = async (pay, { query }) => {
      if (!query.includes("_size=10") || ++looks < 4) return;
      for (let index = 0; index < 12; index += 1) await pay();
    };
    const oddity: Oddity = {
      options: { quirks: { unknownFilters: "ignored", paymentFilters: [] } },
      patience: "20s",
      others,
    };
    expect((await asked("payments.listed", oddity)).value).toMatch(/^open: the newest page/);
  });
});

describe.concurrent("times", () => {
  it("of whole seconds make no further clock", async () => {
    const after = onPayments((row) => ({ ...row, createdAt: String(row.createdAt).replace(/\.\d+Z/, "Z") }));
    const before = () => wait(90).then(() => undefined);
    const { value, report } = await asked("payments.createdAt", { after, before });
    expect(value).toMatchObject({ apartMs: 0 });
    expect(report.settings).toEqual({});
  });

  it("without a zone say nothing of a clock", async () => {
    const after = onPayments((row) => ({ ...row, createdAt: String(row.createdAt).replace("Z", "") }));
    expect((await asked("payments.createdAt", { after })).value).toMatch(/^open: /);
    expect((await asked("clocks.createdAt", { after })).value).toMatch(/^open: /);
  });

  it("are missing: nothing is known", async () => {
    const after = onPayments(({ createdAt, ...row }) => row);
    expect((await asked("payments.createdAt", { after })).value).toMatch(/^open: /);
    expect((await asked("clocks.createdAt", { after })).value).toMatch(/^open: /);
  });

  it("count where a payment has the id of its intent", async () => {
    const after: Oddity["after"] = async (request, response) => {
      if (request.operation !== "payments.create") return response;
      const { id } = JSON.parse(request.body) as { id: string };
      return changed(response, (row) => ({ ...row, id, createdAt: new Date(Date.now() + 5000).toISOString() }));
    };
    const { value } = await asked("payments.createdAt", { after });
    expect(value).toEqual({ aheadMs: expect.toSatisfy((ms: number) => ms > 4000), apartMs: 0 });
  });

  it("of clocks that are apart are told in spite of one response that takes long", async () => {
    let payments = 0;
    const before: Oddity["before"] = async (request) => {
      if (isOf("payments.create")(request) && ++payments === 1) await wait(3500);
      return undefined;
    };
    const after: Oddity["after"] = (request, response) =>
      isOf("payments.create")(request) && payments % 2 === 0
        ? changed(response, (row) => ({ ...row, createdAt: new Date(Date.now() + 3000).toISOString() }))
        : response;
    const { value } = await asked("payments.createdAt", { before, after });
    expect(value).toMatchObject({ apartMs: expect.toSatisfy((ms: number) => ms > 2000) });
  });

  it("are in order, whatever their digits", async () => {
    const start = Date.parse("2026-01-01T10:00:00Z");
    const after = onPayments((row, index) => {
      const text = new Date(start + 60 * index).toISOString();
      // As .NET and Java leave out zeros.
      return { ...row, createdAt: text.replace(/\.?0+Z$/, "Z") };
    });
    expect((await asked("list.order", { after })).value).toMatchObject({ createdAt: "up" });
  });

  it("are in order where several records have one", async () => {
    const after = onPayments((row, index) => ({ ...row, createdAt: `2026-01-01T10:00:0${Math.floor(index / 3)}Z` }));
    expect((await asked("list.order", { after })).value).toMatchObject({ createdAt: "up" });
    const one = onPayments((row) => ({ ...row, createdAt: "2026-01-01T10:00:00Z" }));
    expect((await asked("list.order", { after: one })).value).toMatch(/^open: /);
  });

  it("sort by time, whatever their digits", async () => {
    const rank = ranks();
    const after: Oddity["after"] = (request, response) =>
      isOf("payments.list")(request)
        ? changed(response, (row) => {
            const text = new Date(1.7e12 + 60 * rank(row.pagingToken)).toISOString();
            return { ...row, createdAt: text.replace(/\.?0+Z$/, "Z") };
          })
        : response;
    expect((await asked("sort", { after })).value).toMatchObject({ createdAt: "kept to" });
  });

  it("say nothing where tokens are in no order", async () => {
    const tokens = ["k", "c", "x", "a", "z", "b", "q", "d", "y", "e", "w", "f"];
    const after = onPayments((row, index) => ({
      ...row,
      pagingToken: tokens[index],
      createdAt: new Date(1.7e12 + 3_600_000 * index).toISOString(),
    }));
    const { value, report } = await asked("clocks.createdAt", { after });
    expect(value).toMatch(/^open: /);
    expect(report.settings).toEqual({});
  });
});

describe("the Date of responses", () => {
  it("is old where a cache keeps it", async () => {
    const kept = new Date(Date.now() - 5000).toUTCString();
    const after: Oddity["after"] = (request, response) => {
      if (request.operation !== "payments.list") return response;
      response.headers.set("date", kept);
      response.headers.set("age", String(Math.floor((Date.now() - Date.parse(kept)) / 1000)));
      return response;
    };
    expect((await asked("clocks.date", { after })).value).toMatch(/^open: .*cache/);
  });

  it("is old where one response is held up", async () => {
    let lists = 0;
    const after: Oddity["after"] = (request, response) => {
      if (request.operation === "payments.list" && ++lists === 20) {
        response.headers.set("date", new Date(Date.now() - 4000).toUTCString());
      }
      return response;
    };
    expect((await asked("clocks.date", { after })).value).toMatch(/^open: one Date of 50/);
  });

  it.each(["payments.createdAt", "clocks.date"])(
    "%s: a clock that is set here is none of the service's",
    async (question) => {
      const now = Date.now;
      let seen = 0;
      const before = ({ operation }: SandboxRequest) => {
        if (/^payments\.(list|create)$/.test(operation ?? "") && ++seen === 6) Date.now = () => now() + 20_000;
        return undefined;
      };
      try {
        const { value } = await asked(question, { before, options: { now: () => now() } });
        expect(value).toMatch(/^open: this machine's clock was set/);
      } finally {
        Date.now = now;
      }
    },
  );
});

describe.concurrent("lists", () => {
  it.each([3, 4, 12])("bounds that are ignored, of %i payments", async (payments) => {
    const oddity: Oddity = {
      payments,
      before: (request) => {
        const search = new URLSearchParams(request.query);
        if (!isOf("payments.list")(request) || !/_after|_before/.test(request.query)) return undefined;
        search.delete("_after");
        search.delete("_before");
        return listBy(request, search);
      },
    };
    const { value } = await asked("bounds", oddity);
    expect(value).toEqual(payments < 5 ? expect.stringMatching(/^open: /) : { after: "ignored", before: "ignored" });
  });

  it("whose ids are numbers are sorted as numbers", async () => {
    const rank = ranks();
    const after: Oddity["after"] = async (request, response) => {
      if (request.operation !== "payments.list") return response;
      const rows = (await response.json()) as Record<string, unknown>[];
      const named = rows.map((row) => ({ ...row, id: String(95 + rank(row.pagingToken)) }));
      const way = /id\.(asc|desc)/.exec(request.query)?.[1];
      if (way !== undefined) named.sort((one, other) => (way === "asc" ? 1 : -1) * (Number(one.id) - Number(other.id)));
      return Response.json(named);
    };
    expect((await asked("sort", { after })).value).toMatchObject({ id: "kept to", several: "kept to" });
  });

  it("a size that is taken and cut is no largest size", async () => {
    const before = (request: SandboxRequest) =>
      Number(new URLSearchParams(request.query).get("_size")) > 500 ? failing(400) : undefined;
    expect((await asked("size.largest", { options: { maxSize: 8 }, before })).value).toMatch(/^open: /);
  });

  it("a field that records do not have is no filter", async () => {
    const after = onPayments(({ receiverGatewayStatus, ...row }) => row);
    const before = (request: SandboxRequest) => {
      const search = new URLSearchParams(request.query);
      const status = search.get("receiverGatewayStatus");
      search.delete("receiverGatewayStatus");
      // As where an empty value counts as none.
      return status === null ? undefined : status === "" ? listBy(request, search) : failing(400);
    };
    expect((await asked("filters.payments", { before, after })).value).toMatchObject({
      receiverGatewayStatus: "not known",
    });
  });

  it("an Age of 0 is no cache's", async () => {
    const after: Oddity["after"] = (_, response) => {
      response.headers.set("age", "0");
      return response;
    };
    expect((await asked("caches", { after })).value).toMatchObject({ seen: "none seen" });
  });

  it("a cache that has a header of its own is seen", async () => {
    const after: Oddity["after"] = (request, response) => {
      response.headers.set("cf-cache-status", request.headers.get("cache-control") === "no-cache" ? "DYNAMIC" : "HIT");
      return response;
    };
    expect((await asked("caches", { after })).value).toMatchObject({ seen: "keeps to no-cache" });
  });

  it("an empty list does not say whether responses are compressed", async () => {
    expect((await asked("compression", { options: { quirks: { compresses: true } }, payments: 0 })).value).not.toBe(
      "none",
    );
    expect((await asked("compression", { payments: 0 })).value).toMatch(/^open: /);
  });
});

describe.concurrent("payments", () => {
  it("that are only taken in are not made yet", async () => {
    const after: Oddity["after"] = (request, response) =>
      request.operation === "payments.create" ? new Response(response.body, { status: 202 }) : response;
    const { value, report } = await asked("intents.twice", { after });
    expect(value).toMatch(/^open: /);
    expect(new Set(report.made.filter(({ kind }) => kind === "payment").map(({ state }) => state))).toEqual(
      new Set(["unknown"]),
    );
  });

  it("that are listed while the first look lasts are not listed at once", async () => {
    const before = (request: SandboxRequest) =>
      request.query.includes("senderGatewayTransactionId=probe") ? wait(1500).then(() => undefined) : undefined;
    const { value } = await asked("payments.listed", {
      before,
      patience: "60s",
      options: { quirks: { listedAfterMs: 1200 } },
    });
    expect(value).toMatchObject({ slowestMs: expect.toSatisfy((ms: number) => ms >= 1200) });
  });

  it("an intent is as old as it is when it is paid", async () => {
    const made = new Map<string, number>();
    const ages: { ms: number; taken: boolean }[] = [];
    const oddity: Oddity = {
      options: { quirks: { intentLifetimeMs: 2600 } },
      patience: "3s",
      before: () => wait(0).then(() => undefined),
      async after(request, response) {
        const { id } = (await response
          .clone()
          .json()
          .catch(() => ({}))) as { id?: string };
        if (request.operation === "paymentIntents.create") {
          made.set(String(id), performance.now());
          await wait(500);
        }
        if (request.operation === "payments.create") {
          const of = made.get((JSON.parse(request.body) as { id: string }).id) ?? 0;
          ages.push({ ms: performance.now() - of, taken: response.status === 200 });
        }
        return response;
      },
    };
    const { value } = await asked("intents.lifetime", oddity);
    const of = ages.slice(-4);
    const { payableMs, refusedMs } = value as { payableMs: number; refusedMs: number | null };
    const paid = Math.max(...of.filter(({ taken }) => taken).map(({ ms }) => ms));
    expect(payableMs).toBeLessThanOrEqual(paid);
    const refused = of.find(({ taken }) => !taken);
    if (refused !== undefined) expect(refusedMs).toBeGreaterThanOrEqual(refused.ms);
  });

  it("a gateway that a lagging replica shows was not left alone", async () => {
    const records = new Map<string, { text: string; readMs: number }>();
    const oddity: Oddity = {
      options: { quirks: { updateClears: true } },
      async after(request, response) {
        if (request.operation === "paymentGateways.list") {
          for (const row of (await response.clone().json()) as { id: string }[]) {
            records.set(row.id, { text: JSON.stringify(row), readMs: performance.now() });
          }
        }
        const old = records.get(request.path.split("/").at(-1) ?? "");
        const isLate = request.operation === "paymentGateways.get" && old && performance.now() < old.readMs + 1200;
        return isLate ? new Response(old.text) : response;
      },
    };
    expect((await asked("updates", oddity)).value).toBe("emptied");
  });
});

it("does not say that a connection stays open for longer than it was watched", async () => {
  const before = (request: SandboxRequest) =>
    isOf("payments.list")(request) ? wait(1500).then(() => undefined) : undefined;
  const { says } = await asked("connections.idle", { before, patience: "2s", options: { quirks: { idleSeconds: 1 } } });
  expect(Number(/not within ([\d.]+) s/.exec(says ?? "")?.[1])).toBeLessThan(1);
});

it("takes the end of one response for no idle time", async () => {
  const after: Oddity["after"] = (_, response) => {
    response.headers.set("connection", "close");
    return response;
  };
  expect((await asked("connections.idle", { after })).value).toMatch(/^open: /);
});

it("calls two machines that respond in another order no change", async () => {
  await using fixture = await openProbe({ quirks: { machineClocksMs: [0, 9000] } });
  const line = ["--patience", "1s", "--only", "clocks.date"];
  const first = await fixture.probe(line);
  writeFileSync(fixture.file("earlier.json"), first.stdout);
  await fixture.pay();
  for (let run = 0; run < 2; run += 1) {
    const { stdout } = await fixture.probe([...line, "--baseline", fixture.file("earlier.json")]);
    expect(JSON.parse(stdout).changes).toEqual([]);
    const { baseUrl } = fixture.server;
    await fetch(`${baseUrl}/payments`);
  }
  expect(readFileSync(fixture.file("earlier.json"), "utf8")).toContain('"machines": 2');
});
