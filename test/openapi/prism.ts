import { spawn } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "../support/free-port.mjs";
import { installTools } from "../support/install-tools.js";

const bin = join(installTools("test/openapi", "openapi"), "node_modules/.bin");

/** Runs a tool of this folder's `package.json` to its end. */
export async function run(tool: string, ...options: readonly string[]): Promise<{ code: number | null; text: string }> {
  const process = start(tool, options);
  const text = textOf(process);
  const [code] = await new Promise<[number | null]>((resolve) => process.on("close", (status) => resolve([status])));
  return { code, text: text() };
}

/** Starts Prism on a port of loopback, and ends it after the test. */
export async function startPrism(
  command: "mock" | "proxy",
  ...options: readonly string[]
): Promise<{ readonly url: string; log(): string }> {
  for (let attempt = 1; ; attempt++) {
    // Prism takes no port 0.
    const port = String(await freePort());
    const process = start("prism", [command, "--host", "127.0.0.1", "--port", port, ...options]);
    const log = textOf(process);
    onTestFinished(() => void process.kill());
    const isListening = await new Promise<boolean>((resolve) => {
      process.stdout.on("data", () => {
        if (log().includes("Prism is listening")) resolve(true);
      });
      process.on("close", () => resolve(false));
    });
    if (isListening) return { url: `http://127.0.0.1:${port}`, log };
    // Somebody else may have taken the port meanwhile.
    if (attempt === 3 || !log().includes("EADDRINUSE")) throw new Error(`Prism has ended:\n${log()}`);
  }
}

function start(tool: string, options: readonly string[]) {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  return spawn(join(bin, tool), options, { env, stdio: ["ignore", "pipe", "pipe"] });
}

function textOf({ stdout, stderr }: ReturnType<typeof start>): () => string {
  let text = "";
  for (const stream of [stdout, stderr]) stream.on("data", (chunk) => (text += chunk));
  return () => text;
}
