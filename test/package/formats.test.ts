import { expect, it } from "vitest";
import { entryPoints, run } from "./installed-package.js";

const story = `
  const sandbox = createSandbox();
  const client = new CrossBorderClient({
    ...sandbox.clientOptions({ baseUrl: "https://a.test", authUrl: "https://b.test" }),
    fetch: sandbox.fetch,
  });
  client.liquidityProviders.create({ firstName: "Lina" })
    .then(() => client.paymentGateways.get("unknown"))
    .catch((error) => console.log(error.name, error instanceof BadRequestError, error instanceof CrossBorderError));
`;
const told = "BadRequestError true true";

const imports = `
  import { CrossBorderClient, CrossBorderError, BadRequestError } from "cross-border-payments";
  import { createSandbox } from "cross-border-payments/sandbox";`;

const requires = `
  const { CrossBorderClient, CrossBorderError, BadRequestError } = require("cross-border-payments");
  const { createSandbox } = require("cross-border-payments/sandbox");`;

it("works by import", () => {
  expect(run("story.mjs", imports + story)).toBe(told);
});

it("works by require", () => {
  expect(run("story.cjs", requires + story)).toBe(told);
});

const overSockets = `
  startSandbox().then(async (server) => {
    const client = new CrossBorderClient(server.clientOptions);
    console.log((await client.liquidityProviders.create({ firstName: "Lina" })).firstName);
    await client.close();
    await server.close();
  });`;

const requiresOverSockets = `
  const { CrossBorderClient } = require("cross-border-payments");
  const { startSandbox } = require("cross-border-payments/sandbox");`;

it("works over undici's sockets by import", () => {
  const script = `
    import { CrossBorderClient } from "cross-border-payments";
    import { startSandbox } from "cross-border-payments/sandbox";`;
  expect(run("sockets.mjs", script + overSockets)).toBe("Lina");
});

it("works over undici's sockets by require", () => {
  expect(run("sockets.cjs", requiresOverSockets + overSockets)).toBe("Lina");
});

const withConsole = `
  startSandbox({ console: true }).then(async ({ consoleUrl, close }) => {
    console.log((await fetch(consoleUrl + "console.js")).status);
    await close();
  });`;

it.each([
  ["import", "console.mjs", 'import { startSandbox } from "cross-border-payments/sandbox";'],
  ["require", "console.cjs", 'const { startSandbox } = require("cross-border-payments/sandbox");'],
])("serves the sandbox's console by %s", (_, file, load) => {
  expect(run(file, load + withConsole)).toBe("200");
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
    (function (require) { ${requiresOverSockets + overSockets} })(requireFrom(__filename));`;
  expect(run("own-loader.cjs", script)).toBe("Lina");
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
  const told: readonly [string, string[], string[]][] = JSON.parse(run("names.mjs", script));
  expect(told.map(([entryPoint]) => entryPoint)).toEqual(entryPoints);
  for (const [entryPoint, imported, required] of told) {
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
