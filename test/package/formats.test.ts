import { expect, it } from "vitest";
import { entryPoints, run } from "./installed-package.js";

/** A program over undici's sockets, and the sandbox's console. */
const program = `
  startSandbox({ console: true }).then(async (server) => {
    const client = new CrossBorderClient(server.clientOptions);
    const { firstName } = await client.liquidityProviders.create({ firstName: "Lina" });
    const error = await client.paymentGateways.get("unknown").catch((error) => error);
    const { status } = await fetch(server.consoleUrl + "console.js");
    console.log(firstName, error.name, error instanceof BadRequestError, error instanceof CrossBorderError, status);
    await client.close();
    await server.close();
  });`;
const told = "Lina BadRequestError true true 200";

const requires = `
  const { CrossBorderClient, CrossBorderError, BadRequestError } = require("cross-border-payments");
  const { startSandbox } = require("cross-border-payments/sandbox");`;

it("works by require", () => {
  expect(run("story.cjs", requires + program)).toBe(told);
});

it.skipIf(process.getBuiltinModule("node:sqlite") === undefined).each([
  ["import", "journal.mjs", 'import { SqliteJournal } from "cross-border-payments/journal/sqlite";'],
  ["require", "journal.cjs", 'const { SqliteJournal } = require("cross-border-payments/journal/sqlite");'],
])("keeps a journal in a file by %s, whose thread keeps no process alive", (_, file, load) => {
  const script = `${load} SqliteJournal.open("${file}.db").then((journal) =>
    journal.begin(String(Date.now()), { service: "s", gateway: "g" }, { phase: "paid", settled: true, data: "{}" },
      { owner: "o", leaseMs: 1000, nonce: "n" })).then(({ created }) => console.log("created", created));`;
  expect(run(file, script)).toBe("created true");
});

it("has one set of errors for all entry points by require", () => {
  const script = `
    const { ConfigError, CrossBorderError } = require("cross-border-payments");
    const { createSandbox } = require("cross-border-payments/sandbox");
    const { JournalError, PaymentFlow } = require("cross-border-payments/flow");
    const thrown = (work) => { try { work(); } catch (error) { return error; } };
    const errors = [() => createSandbox({ maxSize: 0 }), () => new PaymentFlow({})].map(thrown);
    console.log(errors.every((error) => error instanceof ConfigError), JournalError.prototype instanceof CrossBorderError);`;
  expect(run("entry-points.cjs", script)).toBe("true true");
});

it("works in a loader that has require but no import(), as Jest's", () => {
  const script = `
    const { readFileSync } = require("node:fs");
    const { createRequire } = require("node:module");
    const { dirname } = require("node:path");
    const { compileFunction } = require("node:vm");
    const modules = new Map();
    function load(file) {
      if (modules.has(file)) return modules.get(file).exports;
      const module = { exports: {} };
      modules.set(file, module);
      const run = compileFunction(readFileSync(file, "utf8"), ["exports", "require", "module", "__filename", "__dirname"]);
      run(module.exports, requireFrom(file), module, file, dirname(file));
      return module.exports;
    }
    function requireFrom(file) {
      const own = createRequire(file);
      return (name) => {
        const found = own.resolve(name);
        return found.includes("node_modules/cross-border-payments/") ? load(found) : own(name);
      };
    }
    (function (require) { ${requires + program} })(requireFrom(__filename));`;
  expect(run("own-loader.cjs", script)).toBe(told);
});

it("exports the same names by import and by require, of every entry point", () => {
  const script = `
    import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    const names = (module) => Object.keys(module).filter((name) => name !== "module.exports").sort();
    const told = [];
    for (const entryPoint of ${JSON.stringify(entryPoints)}) {
      told.push([entryPoint, names(await import(entryPoint)), names(require(entryPoint))]);
    }
    console.log(JSON.stringify(told));`;
  const names: readonly [string, string[], string[]][] = JSON.parse(run("names.mjs", script));
  expect(names.map(([entryPoint]) => entryPoint)).toEqual(entryPoints);
  for (const [entryPoint, imported, required] of names) {
    expect(imported.length, entryPoint).toBeGreaterThan(0);
    expect(imported, entryPoint).toEqual(required);
  }
});

it("opens nothing and keeps no process alive before the first call", () => {
  const script = `
    import { CrossBorderClient } from "cross-border-payments";
    new CrossBorderClient({ baseUrl: "https://a.test", auth: { accessToken: () => "t" } });
    const open = () => process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY)/.test(name));
    process.once("beforeExit", () => console.log("ended by itself", open()));`;
  expect(run("idle.mjs", script)).toBe("ended by itself []");
});
