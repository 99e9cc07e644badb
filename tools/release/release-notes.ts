import { readFileSync } from "node:fs";
import { changesOf } from "./release-changelog.js";

/** Prints what a version changes, for the page of its release. */
const [version = ""] = process.argv.slice(2);
console.log(changesOf(readFileSync("CHANGELOG.md", "utf8"), version));
