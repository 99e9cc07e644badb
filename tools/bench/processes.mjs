import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const bench = fileURLToPath(new URL(".", import.meta.url));

/** Whether processes can be kept to a core each: the server on the last one, whoever is measured on the first. */
export const canPin = availableParallelism() > 1 && spawnSync("taskset", ["-V"]).error === undefined;

const measuredCore = 0;
const serverCore = availableParallelism() - 1;

function pinned(core, command) {
  return canPin && core !== undefined ? ["taskset", "-c", String(core), ...command] : command;
}

/** Starts the server; gives its address, and a way to stop it. */
export function startServer(node) {
  return startListener(node, ["server.mjs"]);
}

async function startListener(node, script) {
  const [command, ...args] = pinned(serverCore, [node, ...script]);
  const child = spawn(command, args, { cwd: bench, stdio: ["pipe", "pipe", "inherit"] });
  const port = await new Promise((resolve, reject) => {
    child.stdout.once("data", (text) => resolve(Number(text)));
    child.once("exit", () => reject(new Error(`${script[0]} did not start`)));
  });
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.stdin.end() };
}

/** One contender in a process of its own that samples on demand. */
export async function startWorker(node, name, origin) {
  const [command, ...args] = pinned(measuredCore, [node, "worker.mjs", name, origin]);
  const child = spawn(command, args, { cwd: bench, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const { failed } = await told(child);
  if (failed !== undefined) throw new Error(failed);
  return {
    async sample(row, budgetMs) {
      child.send({ row, budgetMs });
      const { failed: problem, result } = await told(child);
      if (problem !== undefined) throw new Error(problem);
      return result;
    },
    stop: () => child.disconnect(),
  };
}

function told(child) {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error("the process ended"));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message);
    });
  });
}

/**
 * Runs a script of `probes/` to its end and gives what it printed last, which is JSON.
 *
 * @param free whether it may use every core, as signing does.
 * @param env variables besides those of this process.
 */
export function probe(node, script, args = [], { flags = [], free = false, env = {} } = {}) {
  const [command, ...rest] = pinned(free ? undefined : measuredCore, [
    node,
    ...flags,
    `probes/${script}`,
    ...args.map(String),
  ]);
  return new Promise((resolve, reject) => {
    const child = spawn(command, rest, {
      cwd: bench,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    let printed = "";
    child.stdout.on("data", (text) => {
      printed += text;
    });
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(printed.trim().split("\n").at(-1)));
      else reject(new Error(`${script} ${args.join(" ")} ended with ${code}`));
    });
  });
}
