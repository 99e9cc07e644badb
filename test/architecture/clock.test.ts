import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, it } from "vitest";

/** What has a time of its own: the sandbox (its option `now`), what a person or a socket waits for while a simulation replaces the clock, and a thread that stands alone. */
const ownTime = ["core/clock.ts", "sandbox/", "cli/sandbox/", "platform/undici-agent.ts", "journals/sqlite-worker.ts"];

it("takes the time from the clock of src/core", () => {
  const paths = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const bypasses = /\b(?:Date\.now\(|performance\.now\(|new Date\(\)|(?<!\.)set(?:Timeout|Interval)\()/;
  const found = paths.filter((path) => bypasses.test(readFileSync(posix.join("src", path), "utf8")));
  expect(paths.length).toBeGreaterThan(50);
  expect(found.filter((path) => !ownTime.some((each) => path.startsWith(each)))).toEqual([]);
  expect(ownTime.filter((each) => !found.some((path) => path.startsWith(each)))).toEqual([]);
});
