import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** What has a time of its own: the sandbox (its option `now`), what a person or a socket waits for while a simulation replaces the clock, and a thread that stands alone. */
const allowed = [
  /^core\/clock\.ts$/,
  /^sandbox\//,
  /^cli\/sandbox\//,
  /^platform\/undici-agent\.ts$/,
  /^journals\/sqlite-worker\.ts$/,
];

const bypasses = /\b(?:Date\.now\(|performance\.now\(|new Date\(\)|(?<!\.)set(?:Timeout|Interval)\()/;

it("takes the time from the clock of src/core", () => {
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const found = sources.filter((file) => bypasses.test(readFileSync(join("src", file), "utf8")));
  expect(found.filter((file) => !allowed.some((one) => one.test(file)))).toEqual([]);
  for (const one of allowed)
    expect(
      found.some((file) => one.test(file)),
      String(one),
    ).toBe(true);
});
