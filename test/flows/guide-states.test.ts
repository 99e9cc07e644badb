import { readFile } from "node:fs/promises";
import type { FlowEvent, FlowEvents, ResolveAction } from "cross-border-payments/flow";
import { beforeAll, expect, it } from "vitest";
import { allPhases } from "../../src/flows/state/flow-state.js";
import { brief, type FlowFixture, flowFixture, request } from "./flow-fixture.js";

/** The table of states in the guide: where each can go. */
const table = new Map<string, Set<string>>();

beforeAll(async () => {
  const guide = await readFile(new URL("../../docs/flow-states.md", import.meta.url), "utf8");
  const [, rows = ""] = guide.split("| state | who moves it | to |\n|---|---|---|\n");
  let states: readonly string[] = [];
  for (const row of rows.slice(0, rows.indexOf("\n\n")).split("\n")) {
    const [, state = "", , to = ""] = row.split(" | ").join("|").split("|");
    if (state.trim() !== "") states = state.trim() === "none" ? ["none"] : phasesIn(state);
    for (const from of states)
      for (const phase of phasesIn(to)) table.set(from, (table.get(from) ?? new Set()).add(phase));
    for (const from of states) if (!table.has(from)) table.set(from, new Set());
  }
});

function phasesIn(text: string): readonly string[] {
  const names = [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  return names.filter((name) => (allPhases as readonly string[]).includes(name));
}

it("has a row for each state", () => {
  expect([...table.keys()].toSorted()).toEqual(["none", ...allPhases].toSorted());
});

/** What the service makes of payments, one after the other. */
const responses: Readonly<Record<string, () => Response | undefined>> = {
  paid: () => undefined,
  refused: () => Response.json({ error: "limit", message: "no" }, { status: 400 }),
  busy: () => Response.json({ error: "limit", message: "later" }, { status: 429 }),
  lost: () => Response.json({ message: "upstream timed out" }, { status: 504 }),
};

type Scenario = readonly [
  steps: string,
  responses: readonly (keyof typeof responses)[],
  work: (fixture: FlowFixture, on: FlowEvents) => Promise<unknown>,
];

const decision = { by: "Olga Operator", why: "the back office looked" };
const run = ({ flow }: FlowFixture, on: FlowEvents) => flow({ on }).run("k", request);
const runAndResolve = (action: ResolveAction) => async (fixture: FlowFixture, on: FlowEvents) => {
  expect(await run(fixture, on)).toMatchObject({ status: "held" });
  return fixture.flow({ on }).resolve("k", action, decision);
};

const scenarios: readonly Scenario[] = [
  ["none → funds-requested → claimed → paid", ["paid"], run],
  [
    "none → quoted → funds-requested → claimed → paid",
    ["paid"],
    async ({ flow }, on) => {
      const { intent } = await flow({ on }).quote("k", request);
      return flow({ on }).confirm("k", { intentId: intent.id });
    },
  ],
  [
    "none → quoted → declined",
    [],
    async ({ flow }, on) => {
      await flow({ on }).quote("k", request);
      return flow({ on }).cancel("k");
    },
  ],
  [
    "none → funds-requested → declined",
    [],
    ({ flow, bank }, on) => {
      bank.decline = true;
      return flow({ on }).run("k", request);
    },
  ],
  ["none → rejected", [], ({ flow }, on) => flow({ on }).run("k", { ...request, receiverGatewayId: "nobody" })],
  ["none → funds-requested → claimed → unknown → refused → rejected", ["refused"], run],
  [
    "none → funds-requested → held",
    [],
    ({ flow, bank }, on) => {
      bank.takeFunds({ key: "k" });
      return flow({ on }).run("k", request);
    },
  ],
  ["none → funds-requested → claimed → unknown → funds-requested → claimed → paid", ["busy", "paid"], run],
  [
    `none → funds-requested → ${"claimed → unknown → funds-requested → ".repeat(3)}claimed → unknown → held`,
    ["busy", "busy", "busy", "busy"],
    run,
  ],
  ["none → funds-requested → claimed → unknown → held → refused → rejected", ["lost"], runAndResolve("release")],
  [
    "none → funds-requested → claimed → unknown → held → funds-requested → claimed → paid",
    ["lost", "paid"],
    runAndResolve("resend"),
  ],
];

it.each(scenarios)("goes %s, each step as the table has it", async (wanted, given, work) => {
  const pending = [...given];
  const fixture = await flowFixture(
    {
      onRequest: ({ operation }) =>
        operation === "payments.create" ? responses[pending.shift() ?? ""]?.() : undefined,
    },
    brief,
  );
  const taken: string[] = ["none"];
  const unlisted: string[] = [];
  const onStep = ({ from, to }: FlowEvent) => {
    if (from === to) return;
    taken.push(to);
    if (!table.get(from ?? "none")?.has(to)) unlisted.push(`${from} → ${to}`);
  };
  await work(fixture, { flow: onStep });
  expect([taken.join(" → "), unlisted]).toEqual([wanted, []]);
});
