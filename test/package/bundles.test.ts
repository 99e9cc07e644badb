import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build as buildByEsbuild } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { project, tool } from "./installed-package.js";

/** A program for Node, which sends its requests over sockets. */
const program = `
  import { BadRequestError, CrossBorderClient } from "cross-border-payments";
  import { startSandbox } from "cross-border-payments/sandbox";
  startSandbox({ console: true }).then(async (server) => {
    const client = new CrossBorderClient(server.clientOptions);
    try {
      const { firstName } = await client.liquidityProviders.create({ firstName: "Lina" });
      const refusal = await client.paymentGateways.get("unknown").catch((error) => error);
      const page = await (await fetch(server.consoleUrl)).text();
      console.log(firstName, refusal instanceof BadRequestError, refusal.name, /<title>(.*)</.exec(page)[1]);
    } catch (error) {
      console.log(error.message);
    }
    await client.close();
    await server.close();
  });`;

/** A page that has a token of its own. */
const page = `
  import { CrossBorderClient, exchangeRate } from "cross-border-payments";
  export const show = (options) => new CrossBorderClient(options).paymentIntents.get("1").then(exchangeRate);`;

/** The command lines of docs/bundling.md. */
const [commonJs = "", esModule = "", browser = ""] = [
  ...readFileSync("docs/bundling.md", "utf8").matchAll(/^```sh\n([\s\S]*?)^```/gm),
].map(([, command]) => command);

/** Runs a command line that bundles `app.js`, and moves the bundle to where it finds no packages. */
function bundle(script: string, command: string, name: string, movedName = name): string {
  writeFileSync(join(project, "app.js"), script);
  const PATH = [dirname(tool("esbuild")), process.env.PATH].join(delimiter);
  execFileSync("sh", ["-ec", command], { cwd: project, env: { ...process.env, PATH }, stdio: "pipe" });
  const folder = mkdtempSync(join(tmpdir(), "cross-border-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, movedName);
  writeFileSync(path, readFileSync(join(project, name)));
  return path;
}

function run(path: string): string {
  return execFileSync(process.execPath, [path], { encoding: "utf8" }).trim();
}

it.each([
  ["CommonJS", commonJs, "app.cjs"],
  ["an ES module with a banner", esModule, "app.mjs"],
])("runs as %s by the command of the guide", (_, command, name) => {
  expect(run(bundle(program, command, name))).toBe("Lina true BadRequestError Requests – Sandbox console");
});

it("says why if the banner is missing", () => {
  const alone = `
    import { CrossBorderClient } from "cross-border-payments";
    const client = new CrossBorderClient({ baseUrl: "https://service.test", auth: { accessToken: () => "a-token" } });
    client.paymentGateways.get("1").catch(({ code, effect, message }) => console.log(code, effect, message));`;
  expect(esModule).toContain("--banner:js=");
  expect(run(bundle(alone, esModule.replace(/\\\n.*\n/, ""), "app.mjs"))).toMatch(
    /^invalid_config none The package undici can't be loaded: .*docs\/bundling\.md/,
  );
});

/** A program for a page whose user logs in. */
const loginPage = `
  import { BrowserLogin, CrossBorderClient } from "cross-border-payments";
  export async function show(baseUrl, options) {
    const login = new BrowserLogin(options);
    const client = new CrossBorderClient({ baseUrl, auth: login });
    if (!(await login.resume())) login.redirect();
    else return [login.claims.sub, (await client.payments.list()).items.length, location.href].join(" ");
  }`;

it("logs a user in from a bundle for browsers, without anything of Node's (esbuild)", () => {
  const path = bundle(loginPage, browser, "page.js", "page.mjs");
  expect(readFileSync(path, "utf8")).not.toMatch(/UndiciError|["'`]node:|\bBuffer\.|\brequire\(|^import /m);
  const script = `
    import { startSandbox } from "cross-border-payments/sandbox";
    import { show } from "${pathToFileURL(path)}";
    const server = await startSandbox();
    const { realm, clientId } = server.sandbox.credentials;
    const stored = new Map();
    const page = { href: "https://bank.test/app" };
    const left = new Promise((resolve) => (page.assign = resolve));
    const sessionStorage = {
      getItem: (key) => stored.get(key) ?? null,
      setItem: (key, value) => stored.set(key, value),
      removeItem: (key) => stored.delete(key),
    };
    const history = { state: null, replaceState: (state, unused, url) => (page.href = url) };
    for (const [name, value] of Object.entries({ location: page, history, sessionStorage, addEventListener() {} }))
      Object.defineProperty(globalThis, name, { value, configurable: true });
    const options = { authUrl: server.authUrl, realm, clientId, redirectUri: page.href };
    await show(server.baseUrl, options);
    const response = await fetch(await left, { method: "POST", redirect: "manual" });
    page.href = response.headers.get("location");
    console.log(await show(server.baseUrl, options), stored.size);
    await server.close();`;
  writeFileSync(join(project, "show-login.mjs"), script);
  expect(run(join(project, "show-login.mjs"))).toBe("gateway 0 https://bank.test/app 0");
});

it("is at most 75 kB, minified and gzipped, in a page that has a token of its own", async () => {
  const { outputFiles, metafile } = await buildByEsbuild({
    stdin: { contents: page, resolveDir: project },
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    outdir: ".",
    metafile: true,
    logLevel: "silent",
    write: false,
  });
  const sizes = outputFiles.flatMap(({ path, contents }) => {
    const output = Object.entries(metafile.outputs).find(([name]) => path.endsWith(`/${name}`))?.[1];
    const isOfLogins = Object.keys(output?.inputs ?? {}).some((input) => input.includes("/openid-client/"));
    return isOfLogins ? [] : [gzipSync(contents, { level: 9 }).length];
  });
  expect(sizes).toHaveLength(outputFiles.length - 1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(75_000);
});

it("leaves the client out of a bundle that doesn't use it", async () => {
  const { outputFiles } = await buildByEsbuild({
    stdin: {
      contents: 'import { ApiError } from "cross-border-payments"; console.log(ApiError);',
      resolveDir: project,
    },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    write: false,
  });
  const text = outputFiles.map(({ text }) => text).join();
  expect(text).toContain("ApiError");
  // Such as of the client's libraries.
  expect(text).not.toContain("import(");
});
