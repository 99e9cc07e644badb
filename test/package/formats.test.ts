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

it("works by require where Node can't require ES modules", () => {
  const flag = "--no-experimental-require-module";
  const flags = process.allowedNodeEnvironmentFlags.has(flag) ? [flag] : [];
  expect(run("story-without-esm.cjs", requires + story, flags)).toBe(told);
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

it.each([
  ["import", "mjs", 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);'],
  ["require", "cjs", ""],
])("loads no languages of zod by %s", (how, ending, prelude) => {
  const loads = how === "import" ? 'await import("cross-border-payments")' : 'require("cross-border-payments")';
  const script = `
    ${prelude}
    const { Session } = require("node:inspector");
    const { startSandbox } = require("cross-border-payments/sandbox");
    const loaded = [];
    const session = new Session();
    session.connect();
    session.on("Debugger.scriptParsed", ({ params: { url } }) => loaded.push(url));
    session.post("Debugger.enable");
    const files = (name) => loaded.filter((url) => url.includes("/node_modules/zod/" + name)).length;
    (async () => {
      const server = await startSandbox();
      const { CrossBorderClient } = ${loads};
      const client = new CrossBorderClient(server.clientOptions);
      await client.liquidityProviders.create({ firstName: "Lina" });
      console.log(files("v4/core/schemas") > 0, files("v4/locales"));
      await client.close();
      await server.close();
    })();`;
  expect(run(`zod.${ending}`, script)).toBe("true 0");
});

it("works over undici's sockets by require", () => {
  expect(run("sockets.cjs", requiresOverSockets + overSockets)).toBe("Lina");
});

const withConsole = `
  const isLoaded = () => Object.keys(cache).some((file) => file.endsWith("console-page.cjs"));
  startSandbox().then(async (server) => {
    await server.close();
    const before = isLoaded();
    const { consoleUrl, close } = await startSandbox({ console: true });
    console.log(before, isLoaded(), (await fetch(consoleUrl + "console.js")).status);
    await close();
  });`;

it("loads the sandbox's console where it is asked for, by import", () => {
  const script = `
    import { createRequire } from "node:module";
    import { startSandbox } from "cross-border-payments/sandbox";
    const { cache } = createRequire(import.meta.url);`;
  expect(run("console.mjs", script + withConsole)).toBe("false true 200");
});

it("loads the sandbox's console where it is asked for, by require", () => {
  const script = `
    const { cache } = require;
    const { startSandbox } = require("cross-border-payments/sandbox");`;
  expect(run("console.cjs", script + withConsole)).toBe("false true 200");
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

/** A program whose bank's service counts what it gets. */
const counted = `
  const sent = [];
  const fetch = async (url, { method }) => {
    if (!url.includes("/token")) sent.push(method);
    return new Response(JSON.stringify({ access_token: "t", token_type: "Bearer", expires_in: 60, id: "1" }), { headers: { "content-type": "application/json" } });
  };
  const auth = { authUrl: "https://b.test", realm: "r", clientId: "c", username: "u", password: "p" };
  const callOf = (validation) =>
    new CrossBorderClient({ baseUrl: "https://a.test", auth, fetch, validation }).liquidityProviders.create({ firstName: "Lina" });
  callOf("report").catch(async (error) => {
    console.log(error.name, error.effect, error.message.includes('validation: "off"'), sent.length);
    console.log((await callOf("off")).id, sent.join());
  });`;

it("finds before it sends anything that something was added to Object.prototype, without which no records can be read", () => {
  const script = `const { CrossBorderClient } = require("cross-border-payments");
    Object.prototype.added = "by an old polyfill";${counted}`;
  expect(run("records.cjs", script).split("\n")).toEqual(["ConfigError none true 0", "1 POST"]);
});
