import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type InstalledPackage, installPackage } from "./installed-package.js";

const bin = (name: string) => join("node_modules", ".bin", name);

let installed: InstalledPackage;
beforeAll(() => {
  installed = installPackage();
});
afterAll(() => installed?.remove());

const story = `
  const sandbox = createSandbox();
  const client = new CrossBorderClient({
    ...sandbox.clientOptions({ baseUrl: "https://a.test", authUrl: "https://b.test" }),
    fetch: sandbox.fetch,
  });
  client.liquidityProviders.create({ firstName: "Lina" })
    .then(() => client.paymentGateways.get("unknown"))
    .catch((error) => console.log(error instanceof BadRequestError, error instanceof CrossBorderError, error.code.length > 0));
`;

it("works by import", () => {
  const script = `
    import { BadRequestError, CrossBorderClient, CrossBorderError } from "cross-border-payments";
    import { createSandbox } from "cross-border-payments/sandbox";
    ${story}`;
  expect(installed.run("story.mjs", script)).toBe("true true true");
});

const requireStory = `
  const { BadRequestError, CrossBorderClient, CrossBorderError } = require("cross-border-payments");
  const { createSandbox } = require("cross-border-payments/sandbox");
  ${story}`;

it("works by require", () => {
  expect(installed.run("story.cjs", requireStory)).toBe("true true true");
});

it("works by require where Node can't require ES modules", () => {
  const flag = process.allowedNodeEnvironmentFlags.has("--no-experimental-require-module")
    ? ["--no-experimental-require-module"]
    : [];
  expect(installed.run("no-esm.cjs", requireStory, flag)).toBe("true true true");
});

it("works over undici's own sockets by require", () => {
  const script = `
    const { CrossBorderClient } = require("cross-border-payments");
    const { startSandbox } = require("cross-border-payments/sandbox");
    startSandbox().then(async (server) => {
      const client = new CrossBorderClient(server.clientOptions);
      console.log((await client.liquidityProviders.create({ firstName: "Lina" })).firstName);
      await client.close();
      await server.close();
    });`;
  expect(installed.run("sockets.cjs", script)).toBe("Lina");
});

it("is one copy, whether imported or required, and across entry points", () => {
  const script = `
    import { createRequire } from "node:module";
    import * as imported from "cross-border-payments";
    import { createSandbox } from "cross-border-payments/sandbox";
    const required = createRequire(import.meta.url)("cross-border-payments");
    const thrown = (work) => { try { work(); } catch (error) { return error; } };
    const ofSandbox = thrown(() => createSandbox({ maxSize: 0 }));
    const names = Object.keys(required).sort().join();
    console.log([
      names === Object.keys(imported).sort().join(),
      Object.keys(required).every((name) => required[name] === imported[name]),
      ofSandbox instanceof imported.ConfigError, ofSandbox instanceof imported.ApiError,
    ].join(" "));`;
  expect(installed.run("copies.mjs", script)).toBe("true true true false");
});

it("knows the errors of another copy of itself", () => {
  const script = `
    import { createRequire } from "node:module";
    import * as one from "cross-border-payments";
    const require = createRequire(import.meta.url);
    const file = require.resolve("cross-border-payments");
    for (const name of Object.keys(require.cache)) if (name.includes("cross-border-payments")) delete require.cache[name];
    const other = require(file);
    const thrown = (work) => { try { work(); } catch (error) { return error; } };
    const ofOther = thrown(() => new other.CrossBorderClient({}));
    console.log([
      other.ConfigError !== one.ConfigError,
      ofOther instanceof one.ConfigError, ofOther instanceof one.CrossBorderError, ofOther instanceof one.ApiError,
    ].join(" "));`;
  expect(installed.run("other-copy.mjs", script)).toBe("true true true false");
});

it("opens nothing and keeps no process alive before the first call", () => {
  const script = `
    import { CrossBorderClient } from "cross-border-payments";
    new CrossBorderClient({ baseUrl: "https://a.test", auth: { accessToken: () => "t" } });
    process.once("beforeExit", () => console.log("ended by itself", process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY)/.test(name))));`;
  expect(installed.run("idle.mjs", script)).toBe("ended by itself []");
});

it("holds the built files, the changelog, the licences and the README, and nothing else", () => {
  const others = installed.files.filter((file) => !/^dist\/(?:journal\/)?[\w.-]+\.(?:c?js|d\.c?ts)$/.test(file));
  expect(others).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "dist/THIRD-PARTY-LICENSES.txt", "package.json"]);
  expect(installed.files).toEqual(
    expect.arrayContaining(
      ["index", "sandbox", "testing", "flow", "journal/sqlite", "journal/postgres"].flatMap((name) =>
        ["js", "cjs", "d.ts", "d.cts"].map((ending) => `dist/${name}.${ending}`),
      ),
    ),
  );
});

it("stays below 150 kB", () => {
  expect(statSync(installed.tarball).size).toBeLessThan(150_000);
});

it("brings three packages of its own choice, none with an install script", () => {
  const require = createRequire(join(installed.folder, "package.json"));
  const { dependencies } = JSON.parse(
    readFileSync(join(installed.folder, "node_modules/cross-border-payments/package.json"), "utf8"),
  ) as { dependencies: Record<string, string> };
  expect(Object.keys(dependencies).sort()).toEqual(["decimal.js", "undici", "zod"]);
  const lock = require("./package-lock.json") as { packages: Record<string, { hasInstallScript?: boolean }> };
  const withScripts = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript === true);
  expect(withScripts).toEqual([]);
});

it("is found in order by publint", () => {
  const printed = execFileSync(bin("publint"), ["run", installed.tarball, "--strict"], { encoding: "utf8" });
  expect(printed).toMatch(/All good!/);
});

it("has types that resolve for every kind of consumer", () => {
  const { status, stdout } = spawnSync(bin("attw"), [installed.tarball, "--profile", "node16"], { encoding: "utf8" });
  expect(status, stdout).toBe(0);
});

const consumer = `
  import { CrossBorderClient, type Payment } from "cross-border-payments";
  import { createSandbox } from "cross-border-payments/sandbox";
  const client = new CrossBorderClient({ baseUrl: "https://a.test", auth: { accessToken: async () => "t" } });
  export const status = async (): Promise<Payment["senderGatewayStatus"] | undefined> =>
    (await client.payments.list({ sort: "createdAt.desc" })).items[0]?.senderGatewayStatus;
  export const sandbox = createSandbox();
`;

it.each([
  ["node16", "node16", "consumer.mts"],
  ["node16", "node16", "consumer.cts"],
  ["esnext", "bundler", "consumer.ts"],
])("type-checks for a consumer with module %s and resolution %s (%s)", (module, moduleResolution, file) => {
  writeFileSync(join(installed.folder, file), consumer);
  const flags = [
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--target",
    "es2022",
    "--skipLibCheck",
    "false",
  ];
  const root = process.cwd();
  const types = ["--typeRoots", join(root, "node_modules/@types"), "--types", "node"];
  const tsc = join(root, bin("tsc"));
  expect(() =>
    execFileSync(tsc, [...flags, ...types, "--module", module, "--moduleResolution", moduleResolution, file], {
      cwd: installed.folder,
      encoding: "utf8",
      stdio: "pipe",
    }),
  ).not.toThrow();
});
