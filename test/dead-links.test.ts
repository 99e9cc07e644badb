import { expect, it } from "vitest";
import { filesAddress, picturesAddress } from "../tools/site/manifest.js";
import { deadLinks, type Files } from "./support/dead-links.js";

const filesOf =
  (files: Readonly<Record<string, string>>): Files =>
  (path) =>
    files[path];

const beside = filesOf({ "CHANGELOG.md": "# Changelog\n\n## 0.1.0\n", LICENSE: "MIT" });
const repository = filesOf({
  "docs/errors.md": "# Errors\n\n## What to do\n",
  "tools/bench/results.svg": "<svg/>",
  examples: "",
});

it.each([
  "[a](LICENSE)",
  "[a](CHANGELOG.md#010)",
  "## Here\n\n[a](#here)",
  '<a id="here"></a>There\n\n[a](#here)',
  "[a](https://semver.org/spec/v2.0.0.html)",
  `[a](${filesAddress}/docs/errors.md#what-to-do)`,
  `[a](${filesAddress}/examples)`,
  `![a](${picturesAddress}/tools/bench/results.svg)`,
  "```md\n[a](gone.md)\n```\n`[a](gone.md)`",
])("has nothing against %j", (markdown) => {
  expect(deadLinks(markdown, beside, repository)).toEqual([]);
});

it.each([
  ["[a](docs/errors.md)", "docs/errors.md"],
  ["![a](tools/bench/results.svg)", "tools/bench/results.svg"],
  ['[a](gone.md "title")', "gone.md"],
  ["[a]: gone.md", "gone.md"],
  ['<img alt="a" src="gone.svg">', "gone.svg"],
  ["[a](CHANGELOG.md#gone)", "CHANGELOG.md#gone"],
  ["## Here\n\n[a](#gone)", "#gone"],
  [`[a](${filesAddress}/docs/gone.md)`, `${filesAddress}/docs/gone.md`],
  [`[a](${filesAddress}/docs/errors.md#gone)`, `${filesAddress}/docs/errors.md#gone`],
  [`![a](${picturesAddress}/gone.svg)`, `${picturesAddress}/gone.svg`],
  ["[a](http://insecure.example/)", "http://insecure.example/"],
])("finds the dead link of %j", (markdown, dead) => {
  expect(deadLinks(markdown, beside, repository)).toEqual([dead]);
});
