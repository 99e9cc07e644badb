import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { clientFolder } from "../packages.mjs";

/** A page that shows payments and their rates, with a token that it has from elsewhere. */
const page = `
  import { CrossBorderClient, exchangeRate } from "cross-border-payments";
  const client = new CrossBorderClient({ baseUrl: location.origin, auth: { accessToken: () => document.title } });
  for await (const payment of client.payments.list()) document.body.append(payment.id, exchangeRate(payment));`;

/** The same page, which logs its user in. */
const pageWithLogin = `
  import { BrowserLogin, CrossBorderClient, exchangeRate } from "cross-border-payments";
  const { authUrl, realm, clientId } = document.body.dataset;
  const login = new BrowserLogin({ authUrl, realm, clientId, redirectUri: location.origin + "/" });
  const client = new CrossBorderClient({ baseUrl: location.origin, auth: login });
  if (!(await login.resume())) await login.redirect();
  for await (const payment of client.payments.list()) document.body.append(payment.id, exchangeRate(payment));`;

/** A Lambda function that lists payments. */
const lambda = `
  import { CrossBorderClient } from "cross-border-payments";
  const { BASE_URL: baseUrl, AUTH_URL: authUrl, PASSWORD: password } = process.env;
  const auth = { authUrl, realm: "r", clientId: "c", username: "u", password };
  const client = new CrossBorderClient({ baseUrl, auth });
  export const handler = async () => (await client.payments.list({ size: 10 })).items;`;

const dependencies = ["undici", "undici/*", "zod", "zod/*", "openid-client"];

export async function sizes() {
  const folder = fileURLToPath(clientFolder);
  const [{ size: tarball }] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  const entryPoints = [`${folder}dist/index.js`];
  const entry = await bundle({ entryPoints, platform: "node", external: dependencies, splitting: true });
  const ofPage = await bundle({ ...program(page), platform: "browser", splitting: true });
  const ofPageWithLogin = await bundle({ ...program(pageWithLogin), platform: "browser", splitting: true });
  const withoutLogins = ofPage.filter(
    ({ inputs }) => !Object.keys(inputs).some((path) => path.includes("/openid-client/")),
  );
  const ofLambda = await bundle({ ...program(lambda), platform: "node" });
  return [
    row("tarball", 800, tarball),
    row("import of the main entry, minified + gzip, without dependencies", undefined, gzipOf(loadedAtFirst(entry))),
    row("page that lists payments and shows rates, minified + gzip", 75, gzipOf(withoutLogins), withoutLogins),
    row("the same with BrowserLogin", undefined, gzipOf(ofPageWithLogin), ofPageWithLogin),
    row("client in a Lambda function by esbuild, minified + gzip", undefined, gzipOf(ofLambda), ofLambda),
  ];
}

/** The first output, and what it imports other than by `import()`. */
function loadedAtFirst(outputs) {
  const loaded = new Set(
    outputs.filter(({ entryPoint = "" }) => entryPoint === "<stdin>" || entryPoint.endsWith("dist/index.js")),
  );
  for (const { imports } of loaded) {
    const paths = imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path);
    for (const output of outputs) if (paths.includes(output.path)) loaded.add(output);
  }
  return [...loaded];
}

function row(work, goal, bytes, outputs) {
  const found = outputs === undefined ? kb(bytes) : `${kb(bytes)} (minified: ${parts(outputs)})`;
  return goal === undefined
    ? { work, goal: "", found }
    : { work, goal: `≤ ${goal} kB`, found, met: bytes <= goal * 1000 };
}

const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

function program(contents) {
  // This repository's tsconfig.json would lead to the sources.
  return { stdin: { contents, resolveDir: fileURLToPath(new URL("../../", clientFolder)) }, tsconfigRaw: "{}" };
}

/** The outputs of esbuild: what is in them, and their bytes. */
async function bundle(options) {
  const { outputFiles, metafile } = await build({
    ...options,
    bundle: true,
    minify: true,
    format: "esm",
    outdir: ".",
    metafile: true,
    write: false,
    logLevel: "error",
  });
  return Object.entries(metafile.outputs).map(([path, output], index) => ({
    ...output,
    path,
    contents: outputFiles[index].contents,
  }));
}

function gzipOf(outputs) {
  return outputs.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
}

/** What each package takes, minified, largest first. */
function parts(outputs) {
  const bytes = new Map();
  for (const output of outputs) {
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs)) {
      const name = /.*node_modules\/([^/]+)/.exec(path)?.[1].replace(/^undici-7$/, "undici") ?? "the program";
      bytes.set(name, (bytes.get(name) ?? 0) + bytesInOutput);
    }
  }
  const sorted = [...bytes].sort(([, one], [, other]) => other - one);
  return sorted
    .filter(([, size]) => size >= 500)
    .map(([name, size]) => `${name} ${(size / 1000).toFixed(0)}`)
    .join(", ");
}
