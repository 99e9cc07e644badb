import { readFileSync } from "node:fs";
import { filesAddress } from "../site/manifest.js";
import { changesOf } from "./release-changelog.js";

/** Prints what a version changes, for the page of its release. */
const [version = ""] = process.argv.slice(2);
const changes = changesOf(readFileSync("CHANGELOG.md", "utf8"), version);
// A release's page has no files beside it.
console.log(changes.replaceAll("](docs/", `](${filesAddress}/docs/`));
