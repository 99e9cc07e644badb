import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidArgumentError } from "../../errors/errors.js";

/**
 * Holds a file for this run: one run at a time of this machine. The lock is a name that the operating system gives to one process, so it
 * ends with the process, however that ends.
 *
 * @param file what tells the file from others, whichever way leads to it.
 * @param path for messages.
 * @throws {InvalidArgumentError} where another run has it.
 */
export async function lockForRun(file: string, path: string): Promise<AsyncDisposable> {
  const name = addressOf(createHash("sha256").update(file).digest("hex").slice(0, 40));
  const server = (await listen(name)) ?? (await listenInStead(name));
  if (server === undefined) {
    throw new InvalidArgumentError(`another run is writing ${path}: wait for its end, or give this one other files`);
  }
  server.unref();
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Of Linux's own names and of Windows's pipes nothing is left behind by a process that was killed. */
export function addressOf(name: string): string {
  if (process.platform === "linux") return `\0cross-border-run-${name}`;
  if (process.platform === "win32") return `\\\\.\\pipe\\cross-border-run-${name}`;
  return join(tmpdir(), `cb-${name.slice(0, 16)}.run`);
}

/** Undefined where the name is taken. */
function listen(address: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.listen(address, () => resolve(server));
  });
}

/** Elsewhere a socket's file stays behind, and nobody takes connections there. */
async function listenInStead(address: string): Promise<Server | undefined> {
  if (address.startsWith("\0") || address.startsWith("\\") || (await isAlive(address))) return undefined;
  await rm(address, { force: true });
  return listen(address);
}

function isAlive(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED" && code !== "ENOENT"));
  });
}
