import { readFileSync } from "node:fs";
import { story } from "./story.js";

/** For runtimes with processes. */
const settings = JSON.parse(readFileSync(process.env.SETTINGS, "utf8"));
story(settings).then((told) => process.stdout.write(JSON.stringify(told)));
