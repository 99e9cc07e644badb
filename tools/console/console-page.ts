import { writeFileSync } from "node:fs";
import { consolePageModule, consolePagePath } from "./console-page-text.js";

/** Writes the sandbox's console page, as the package holds it: `npm run console:page`. */
writeFileSync(consolePagePath, await consolePageModule());
