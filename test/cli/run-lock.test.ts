import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { addressOf, lockForRun } from "../../src/cli/lists/run-lock.js";

const { platform } = process;
const useNamesOf = (value: string) => Object.defineProperty(process, "platform", { value });
afterEach(() => {
  useNamesOf(platform);
  vi.unstubAllEnvs();
});

const file = `of this test, ${process.pid}`;
const hash = createHash("sha256").update(file).digest("hex");
const refusal = "another run is writing a.ndjson: wait for its end, or give this one other files";

it.each([
  ["linux", `\0cross-border-run-${hash}`],
  ["win32", `\\\\.\\pipe\\cross-border-run-${hash}`],
  ["darwin", join(tmpdir(), `cb-${hash.slice(0, 16)}.run`)],
])("has the name that %s gives to one process", (system, address) => {
  useNamesOf(system);
  expect(addressOf(hash)).toBe(address);
});

// Windows has no such files.
describe.skipIf(platform === "win32")("a file that a run has", () => {
  const systems = platform === "linux" ? ["linux", "darwin"] : ["darwin"];

  it.each(systems)("is nobody else's until that run ends, by the names of %s", async (system) => {
    useNamesOf(system);
    const lock = await lockForRun(file, "a.ndjson");
    await expect(lockForRun(file, "a.ndjson")).rejects.toThrow(refusal);
    await (await lockForRun(`${file} too`, "b.ndjson"))[Symbol.asyncDispose]();
    // Who stays connected doesn't keep the run from its end.
    const socket = connect(addressOf(hash.slice(0, 40)));
    await once(socket.resume(), "close");
    await lock[Symbol.asyncDispose]();
    await (await lockForRun(file, "a.ndjson"))[Symbol.asyncDispose]();
  });

  it("is free where a run that was killed has left a socket's file", async () => {
    useNamesOf("darwin");
    const path = addressOf(hash);
    writeFileSync(path, "");
    const lock = await lockForRun(file, "a.ndjson");
    await expect(lockForRun(file, "a.ndjson")).rejects.toThrow(refusal);
    await lock[Symbol.asyncDispose]();
    expect(existsSync(path)).toBe(false);
  });

  it("is an error where there is no place for a socket's file", async () => {
    useNamesOf("darwin");
    vi.stubEnv("TMPDIR", join(tmpdir(), `missing-${process.pid}`));
    await expect(lockForRun(file, "a.ndjson")).rejects.toThrow(/listen E/);
  });
});
