import { expect, it } from "vitest";
import { OptionError } from "../support/whole-option.js";
import { partsOf } from "./shard-report.js";
import { simulateCommand } from "./simulate-options.js";
import { smallWorlds } from "./small-worlds.js";

it("takes what docs/simulation.md shows", () => {
  expect(simulateCommand(["--schedules", "1000000", "--seed", "7"])).toMatchObject({ schedules: 1_000_000, seed: 7 });
  expect(simulateCommand(["--profile", "lost entries"])).toMatchObject({ profile: "lost entries", schedules: 20_000 });
  expect(simulateCommand(["--choices", "[0,1]", "--flows", "2"])).toMatchObject({
    choices: [0, 1],
    cores: 1,
    flows: 2,
  });
  expect(simulateCommand(["--guided", "--seed", "0", "--schedules", "1"])).toMatchObject({ isGuided: true, seed: 0 });
  const worlds = Object.keys(smallWorlds);
  expect(simulateCommand(["--enumerate", "all", "--faults", "2", "--cores", "3"])).toEqual({
    worlds,
    faults: 2,
    cores: 3,
  });
});

it.each([
  ["--schedule 2", /Unknown option '--schedule'/],
  ["--schedules 2 extra", /Unexpected argument 'extra'/],
  ["--schedules abc", /^--schedules must be a whole number from 1 to 4294967295; found "abc"$/],
  ["--schedules 0", /^--schedules must be/],
  ["--schedules=-3", /^--schedules must be/],
  ["--schedules 1.5", /^--schedules must be/],
  ["--schedules 1e3", /^--schedules must be/],
  ["--schedules=", /^--schedules must be/],
  ["--seed NaN", /^--seed must be/],
  ["--seed 4294967296", /^--seed must be a whole number from 0 to 4294967295/],
  ["--first 4294967295 --schedules 2", /^--first must be a whole number from 0 to 4294967294/],
  ["--cores 0", /^--cores must be/],
  ["--flows 0", /^--flows must be/],
  ["--processes x", /^--processes must be/],
  ["--profile typo", /^--profile is one of: /],
  ["--profile toString", /^--profile is one of: /],
  ["--choices {}", /^--choices must be a JSON list/],
  ["--choices [1", /^--choices must be a JSON list/],
  ['--choices [1,"a"]', /^--choices must be a JSON list/],
  ["--choices [-1]", /^--choices must be a JSON list/],
  ["--choices [1.5]", /^--choices must be a JSON list/],
  ["--choices [1] --seed 7", /^--seed means nothing beside --choices$/],
  ["--choices [1] --guided", /^--guided means nothing beside --choices$/],
  ["--enumerate typo", /^--enumerate is all, or one of: payment/],
  ["--enumerate all --faults x", /^--faults must be/],
  ["--enumerate all --cores 0", /^--cores must be/],
  ["--enumerate all --profile quotes", /^--profile means nothing beside --enumerate$/],
  ["--enumerate all --choices [1]", /^--choices means nothing beside --enumerate$/],
  ["--faults 2", /^--faults means nothing without --enumerate$/],
])("refuses %s", (line, message) => {
  const run = () => simulateCommand(line.split(" "));
  expect(run).toThrow(OptionError);
  expect(run).toThrow(message);
});

it("runs each schedule in one part, and no other", () => {
  for (const [schedules, cores] of [
    [5, 4],
    [10, 9],
    [1, 9],
    [5000, 2],
    [7, 7],
  ] as const) {
    const parts = partsOf(3, schedules, cores);
    const run = parts.flatMap(({ first, schedules: count }) => Array.from({ length: count }, (_, at) => first + at));
    expect(run).toEqual(Array.from({ length: schedules }, (_, at) => 3 + at));
    expect(parts.length).toBeLessThanOrEqual(cores);
  }
});
