import { readFileSync } from "node:fs";
import { afterAll, expect, it, vi } from "vitest";
import type { FlowPhase } from "../../src/events/flow-event.js";
import { allPhases } from "../../src/flows/state/flow-state.js";
import { emitStep } from "../../src/flows/steps/emit-step.js";
import { simulateFlows } from "../../src/simulation/simulate-flows.js";
import { runs } from "../support/thorough.js";

vi.hoisted(() => vi.resetModules());
vi.mock("../../src/flows/steps/emit-step.js", { spy: true });
afterAll(() => void vi.resetModules());

const picture = readFileSync("docs/images/flow-phases.svg", "utf8");
const guide = readFileSync("docs/flow-states.md", "utf8");

/** A step of a flow, as `claimed → paid`. */
const step = (from: string, to: string): string => `${from === "" ? "none" : from} → ${to}`;

const arrows = [...picture.matchAll(/<path [^>]*data-from="([^"]*)" data-to="([^"]*)" d="([^"]*)"/g)].map(
  ([, from = "", to = "", line = ""]) => ({ name: step(from, to), from, to, points: pointsOf(line) }),
);

/** The corners of a line of absolute moves. */
function pointsOf(line: string): { readonly x: number; readonly y: number }[] {
  let [x, y] = [0, 0];
  return [...line.matchAll(/([MHV])([\d ]+)/g)].map(([, command, numbers = ""]) => {
    const [first = 0, second = 0] = numbers.split(" ").map(Number);
    if (command === "M") [x, y] = [first, second];
    else if (command === "H") x = first;
    else y = first;
    return { x, y };
  });
}

const boxes = new Map(
  [
    ...picture.matchAll(
      /<rect [^>]*?x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"[^>]*>\s*<text class="phase[^>]*>([\w-]+)</g,
    ),
  ].map(([, x, y, width, height, phase = ""]) => [
    phase,
    { left: Number(x), top: Number(y), right: Number(x) + Number(width), bottom: Number(y) + Number(height) },
  ]),
);

function isAtEdge(phase: string, point: { readonly x: number; readonly y: number } | undefined): boolean {
  const box = boxes.get(phase);
  if (box === undefined || point === undefined) return false;
  const { left, right, top, bottom } = box;
  const isWithin = point.x >= left && point.x <= right && point.y >= top && point.y <= bottom;
  return isWithin && (point.x === left || point.x === right || point.y === top || point.y === bottom);
}

/** Every step from one state to another in the guide's table of states. */
function stepsOfTable(): string[] {
  const table = /\| state \| who moves it \| to \|\n\|[-|]+\n((?:\|.*\n)+)/.exec(guide)?.[1] ?? "";
  let from: string[] = [];
  return table.split("\n").flatMap((row) => {
    const [, states = "", , targets = ""] = row.split("|");
    if (states.trim() !== "") from = states.trim() === "none" ? ["none"] : phasesIn(states);
    return from.flatMap((one) => phasesIn(targets).flatMap((to) => (one === to ? [] : [step(one, to)])));
  });
}

const phasesIn = (text: string): string[] =>
  [...text.matchAll(/`([\w-]+)`/g)]
    .map(([, name = ""]) => name)
    .filter((name) => allPhases.includes(name as FlowPhase));

it("shows every phase of a flow, and no other", () => {
  expect([...boxes.keys()].sort()).toEqual([...allPhases].sort());
  expect(picture.match(/class="phase/g)).toHaveLength(allPhases.length);
});

it.each(arrows)("draws $name from the one box to the other", ({ from, to, points }) => {
  expect(isAtEdge(to, points.at(-1))).toBe(true);
  if (from !== "") expect(isAtEdge(from, points[0])).toBe(true);
});

it("draws the steps of the guide's table", () => {
  const rare = ["claimed → held"];
  const drawn = arrows.map(({ name }) => name).concat(rare);
  expect(drawn.sort()).toEqual([...new Set(stepsOfTable())].sort());
});

it("leaves out no step that flows take in a world in which everything fails", async () => {
  await simulateFlows({ schedules: runs(300), seed: 7 });
  const taken = vi
    .mocked(emitStep)
    .mock.calls.flatMap(([, , from, to]) => (from?.phase === to.phase ? [] : [step(from?.phase ?? "", to.phase)]));
  const known = new Set(stepsOfTable());
  expect(new Set(taken).size).toBeGreaterThan(15);
  expect([...new Set(taken)].filter((one) => !known.has(one))).toEqual([]);
});
