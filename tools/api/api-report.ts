import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  type ExtractorLogLevel,
  type ExtractorMessage,
} from "@microsoft/api-extractor";
import type ts from "typescript";

/**
 * Compares the published types of `dist` with the reports in `tools/api/`, one for each entry point; with `--write`, writes the reports.
 *
 * Fails where they differ, and where a published type mentions one that no entry point exports.
 */
const writes = process.argv.includes("--write");
const root = process.cwd();
const temporary = mkdtempSync(join(tmpdir(), "api-report-"));

const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly exports: Record<string, unknown> };
/** `index`, `sandbox`, `journal/sqlite` and so on. */
const entryPoints = Object.keys(exports)
  .filter((path) => !path.endsWith(".json"))
  .map((path) => (path === "." ? "index" : path.slice("./".length)));
/** Of all entry points, compiled once. */
const compiled = CompilerState.create(configOf("index"));
const exported = exportedNames();
/** What the extractor says besides the differences. */
const silent = ["console-preamble", "console-api-report-copied", "console-api-report-not-copied"];

try {
  mkdirSync("tools/api", { recursive: true });
  const different = entryPoints.filter((name) => !isReported(name));
  if (different.length > 0) {
    console.error(
      `The published types of ${different.join(", ")} are not those in tools/api/, or incomplete: see above.`,
    );
    console.error("Where the change is wanted, run: npm run api");
    process.exitCode = 1;
  }
} finally {
  rmSync(temporary, { recursive: true });
}

function isReported(name: string): boolean {
  return Extractor.invoke(configOf(name), {
    compilerState: compiled,
    localBuild: writes,
    printApiReportDiff: !writes,
    messageCallback,
  }).succeeded;
}

function configOf(name: string): ExtractorConfig {
  const configObjectFullPath = join(root, "tools/api/api-extractor.json");
  const configObject = ExtractorConfig.loadFile(configObjectFullPath);
  configObject.mainEntryPointFilePath = typesOf(name);
  configObject.apiReport = {
    enabled: true,
    ...configObject.apiReport,
    reportFileName: `${name.replaceAll("/", "-")}.api.md`,
    reportTempFolder: temporary,
  };
  return ExtractorConfig.prepare({
    configObject,
    configObjectFullPath,
    packageJsonFullPath: join(root, "package.json"),
  });
}

/** Lets one entry point mention what another exports, and prints only what helps. */
function messageCallback(message: ExtractorMessage): void {
  const mentioned = /^The symbol "(\w+)" needs to be exported/.exec(message.text)?.[1];
  if (mentioned !== undefined && exported.has(mentioned)) message.logLevel = "none" as ExtractorLogLevel;
  if (silent.includes(message.messageId)) message.handled = true;
}

function exportedNames(): ReadonlySet<string> {
  const program = compiled.program as ts.Program;
  const checker = program.getTypeChecker();
  const names = entryPoints.flatMap((name) => {
    const file = program.getSourceFile(typesOf(name));
    const module = file && checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${typesOf(name)} is missing: run npm run build first`);
    return checker.getExportsOfModule(module).map((symbol) => symbol.name);
  });
  return new Set(names);
}

function typesOf(entryPoint: string): string {
  return join(root, "dist", `${entryPoint}.d.cts`);
}
