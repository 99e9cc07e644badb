import { readFile } from "node:fs/promises";
import { type Effect, type ErrorCode, InvalidArgumentError } from "cross-border-payments";
import { MemoryJournal } from "cross-border-payments/flow";
import { beforeAll, describe, expect, it } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";
import { brief, type FlowFixture, flowFixture, request } from "./flow-fixture.js";
import { errorOf } from "./results.js";

/** The guide's table of refusals: the cell of each code. */
const documented = new Map<string, string>();

beforeAll(async () => {
  const guide = await readFile(new URL("../../docs/paused-flows.md", import.meta.url), "utf8");
  const [, rows = ""] = guide.split("| `code` | `effect` |\n|---|---|\n");
  for (const row of rows.slice(0, rows.indexOf("\n\n")).trim().split("\n")) {
    const [, codes = "", effect = ""] = row.split(" | ").join("|").split("|");
    for (const [, code = ""] of codes.matchAll(/`(\w+_\w+)`/g)) documented.set(code, effect);
  }
});

const other = { ...request, memo: "another" };
const decision = { by: "Olga Operator", why: "the back office looked" };

interface Refused {
  readonly code: ErrorCode;
  readonly effect: Effect;
  readonly of: string;
  /** Leads a flow of the key "k" that far, and makes the call. */
  readonly call: (fixture: FlowFixture) => Promise<unknown>;
}

const paid = ({ flow }: FlowFixture) => flow().run("k", request);
const quoted = ({ flow }: FlowFixture, key = "k") => flow().quote(key, request);
async function held({ flow }: FlowFixture) {
  expect(await flow().run("k", request)).toMatchObject({ status: "held" });
}

const refusals: readonly Refused[] = [
  { code: "flow_unknown", effect: "none", of: "no flow", call: ({ flow }) => flow().confirm("k", { intentId: "1" }) },
  {
    code: "quote_expired",
    effect: "none",
    of: "a quote",
    async call({ flow }) {
      let nowMs = Date.now();
      const journal = new MemoryJournal({ nowMs: () => nowMs });
      const { intent } = await flow({ journal }).quote("k", request);
      nowMs += 86_400_000;
      return flow({ journal }).confirm("k", { intentId: intent.id });
    },
  },
  ...(
    [
      ["none", "a declined flow", (fixture: FlowFixture) => quoted(fixture).then(() => fixture.flow().cancel("k"))],
      ["possible", "a paid flow", paid],
    ] as const
  ).map(
    ([effect, of, lead]): Refused => ({
      code: "flow_confirmed",
      effect,
      of,
      call: (fixture) => lead(fixture).then(() => quoted(fixture)),
    }),
  ),
  ...(
    [
      ["none", "a quote", quoted],
      ["possible", "a paid flow", paid],
    ] as const
  ).flatMap(([effect, of, lead]): Refused[] => [
    {
      code: "flow_key_reused",
      effect,
      of,
      call: (fixture) => lead(fixture).then(() => fixture.flow().run("k", other)),
    },
    {
      code: "quote_changed",
      effect,
      of,
      call: (fixture) => lead(fixture).then(() => fixture.flow().confirm("k", { intentId: "another" })),
    },
  ]),
  {
    code: "flow_foreign",
    effect: "none",
    of: "a quote",
    async call(fixture) {
      const { intent } = await quoted(fixture);
      const { privateKey } = signingKeysOf("stranger");
      return fixture.flow({}, { signingKey: privateKey }).confirm("k", { intentId: intent.id });
    },
  },
  {
    code: "flow_foreign",
    effect: "possible",
    of: "another gateway's paid flow",
    call: (fixture) =>
      paid(fixture).then(() => fixture.flow({ gatewayId: "beta-mobile" }).resolve("k", "found", decision)),
  },
  {
    code: "flow_pruned",
    effect: "possible",
    of: "a pruned flow",
    async call(fixture) {
      await paid(fixture);
      await fixture.journal.prune({ settledBeforeMs: Date.now() + 60_000 });
      return fixture.flow().run("k", request);
    },
  },
  {
    code: "flow_not_held",
    effect: "possible",
    of: "a paid flow",
    call: (fixture) => paid(fixture).then(() => fixture.flow().resolve("k", "found", decision)),
  },
];

describe("what refuses a call because of its key's flow", () => {
  it.each(refusals)("is $code, with the effect $effect of $of, and pays nothing", async ({ code, effect, call }) => {
    const fixture = await flowFixture();
    const error = await errorOf(call(fixture));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ code, effect });
    expect(documented.get(code)).toContain(`\`${effect}\``);
    expect(fixture.sandbox.payments).toHaveLength(effect === "possible" ? 1 : 0);
  });

  it("says how a flow ended that was pruned", async () => {
    const { flow, journal } = await flowFixture();
    await flow().run("k", request);
    await journal.prune({ settledBeforeMs: Date.now() + 60_000 });
    const { message } = await errorOf(flow().run("k", request));
    expect(message).toMatch(/^the flow of key "k" was settled as paid and pruned since: .*not made a second time/);
  });

  it("is possible where resolve finds otherwise than its operator", async () => {
    let isHidden = true;
    const fixture = await flowFixture(
      {
        onResponse: ({ operation }) => {
          if (operation === "payments.create") return Response.error();
          return operation === "payments.list" && isHidden ? Response.json([]) : undefined;
        },
      },
      brief,
    );
    await held(fixture);
    const { flow, sandbox } = fixture;
    const found = await errorOf(flow().resolve("k", "found", decision));
    expect(found).toMatchObject({ code: "flow_payment_not_found", effect: "possible" });
    isHidden = false;
    const release = await errorOf(flow().resolve("k", "release", decision));
    expect(release).toMatchObject({ code: "flow_payment_found", effect: "possible" });
    expect(sandbox.payments).toHaveLength(1);
    for (const { code } of [found, release]) expect(documented.get(code)).toBe("`possible` ");
  });

  it("is in the guide, each code of it", () => {
    const tested = [...refusals.map(({ code }) => code), "flow_payment_found", "flow_payment_not_found"];
    expect([...documented.keys()].toSorted()).toEqual([...new Set([...tested, "flow_payment_unseen"])].toSorted());
  });
});
