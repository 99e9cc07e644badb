#!/usr/bin/env node
import { watchOutputs } from "./outputs.js";
import { asksForVersion, readVersion } from "./version.js";

const line = process.argv.slice(2);
watchOutputs();
// Scripts ask often, and the commands take longer to load than Node takes to start.
if (asksForVersion(line)) process.stdout.write(`${readVersion()}\n`);
else await (await import("./run-process.js")).runProcess(line);
