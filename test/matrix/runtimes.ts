import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { openBrowser } from "../support/chromium.js";
import { patienceMs } from "../support/patience.js";
import type { Settings } from "./service.js";

const run = promisify(execFile);

/** The programs themselves: what npm puts into `.bin` wants an install script to have been run. */
export const bunBinary = (tools: string): string => join(tools, `node_modules/@oven/bun-linux-${process.arch}/bin/bun`);
const nodes = new Map<string, string>();

/** Of another Node, which is installed once, beside the user's project. */
export function nodeBinary(project: string, version: string): string {
  const known = nodes.get(version);
  if (known !== undefined) return known;
  const command = ["test/runtime/install-node.sh", version, join(project, `../node-${version}`)];
  const binary = join(execFileSync("bash", command, { encoding: "utf8" }).trim(), "node");
  nodes.set(version, binary);
  return binary;
}

const workerdArch = process.arch === "arm64" ? "arm64" : "64";
const workerdBinary = (tools: string): string =>
  join(tools, `node_modules/@cloudflare/workerd-linux-${workerdArch}/bin/workerd`);

/** What a program told of its steps: see `programs/story.js`. */
export type Told = Readonly<Record<string, string>>;

/**
 * Runs a program in a process of its own.
 *
 * @param command without the file of the program.
 * @param folder for its settings, and for what it stores.
 */
export async function tellByProcess(
  command: readonly string[],
  file: string,
  folder: string,
  settings: Settings,
): Promise<Told> {
  const paths = { SETTINGS: join(folder, "settings.json"), JOURNAL: join(folder, "journal.sqlite") };
  writeFileSync(paths.SETTINGS, JSON.stringify(settings));
  const [program = "", ...flags] = [...command, file];
  const { stdout } = await run(program, flags, { env: { ...process.env, ...paths }, timeout: patienceMs });
  return JSON.parse(stdout) as Told;
}

/** Sends the settings, and more of them, to a path of a Worker; resolves to what it responds. */
export type AskWorker = (path: string, more?: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** Runs a program of this folder's as a Worker, while `use` is at work. */
export function withWorkerd<T>(
  tools: string,
  folder: string,
  settings: Settings,
  use: (ask: AskWorker) => Promise<T>,
): Promise<T> {
  return serveByWorkerd(tools, folder, {}, (url) =>
    use(async (path, more) => {
      const response = await fetch(url + path, { method: "POST", body: JSON.stringify({ ...settings, ...more }) });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return JSON.parse(text);
    }),
  );
}

/**
 * Runs `worker.js` of a folder in workerd, with nothing of Node's, while `use` is at work with its address.
 *
 * @param env its variables.
 */
export async function serveByWorkerd<T>(
  tools: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const bindings = Object.entries(env).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`);
  const config = `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = (
          modules = [(name = "worker", esModule = embed "worker.js")],
          compatibilityDate = "2026-10-01",
          bindings = [${bindings.join(", ")}],
        )),
        (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
      ],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );`;
  writeFileSync(join(folder, "config.capnp"), config);
  const workerd = spawn(workerdBinary(tools), ["serve", "config.capnp", "--control-fd=3"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  try {
    const [control] = workerd.stdio.slice(3);
    if (control === null || control === undefined) throw new Error("workerd has no control channel");
    const [line] = await once(createInterface(control as NodeJS.ReadableStream), "line");
    const { port } = JSON.parse(String(line)) as { readonly port: number };
    return await use(`http://127.0.0.1:${port}`);
  } finally {
    workerd.kill();
  }
}

/** Loads the page at `url` in Chromium, and reads what it shows. */
export async function tellByChromium(tools: string, url: string): Promise<Told> {
  await using browser = await openBrowser(tools);
  const page = await (await browser.newProfile()).newPage();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.goto(url);
  const shown = page.locator("pre").textContent();
  return JSON.parse((await shown.catch(() => null)) ?? JSON.stringify({ page: errors.join() }));
}
