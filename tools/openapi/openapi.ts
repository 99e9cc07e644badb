import { writeFileSync } from "node:fs";
import { openApiText } from "./document.js";

writeFileSync("openapi.json", openApiText());
