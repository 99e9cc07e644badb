import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RecordStore, type StoredRecord } from "../../src/reconcile/record-store.js";
import { TemporaryFile } from "../../src/reconcile/temporary-file.js";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "records-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

/** A record whose line in the file has this many characters. */
function recordOf(key: string, characters = 0): StoredRecord {
  const record = { key, entry: { senderGatewayTransactionId: "" } };
  const padding = characters - JSON.stringify(record).length - 1;
  return { key, entry: { senderGatewayTransactionId: "x".repeat(Math.max(0, padding)) } };
}

/** What a store gives back, in parts, and how much it wrote at a time. */
async function partsOf(records: readonly StoredRecord[], mostInMemory: number) {
  const append = vi.spyOn(TemporaryFile.prototype, "append");
  const close = vi.spyOn(TemporaryFile.prototype, "close");
  const store = new RecordStore(mostInMemory, directory);
  for (const record of records) await store.add(record);
  const parts: StoredRecord[][] = [];
  for await (const part of store.parts()) parts.push([...part]);
  await store.close();
  expect(close).toHaveBeenCalledTimes(records.length > mostInMemory ? 1 : 0);
  const written = append.mock.calls.map(([text]) => text.length);
  vi.restoreAllMocks();
  return { parts, written };
}

it("keeps as many records in memory as it may, and with one more all of them in the parts of their keys", async () => {
  const records = Array.from({ length: 400 }, (_, index) => recordOf(`key ${index % 200}`));
  expect(await partsOf(records, 400)).toEqual({ parts: [records], written: [] });
  const { parts } = await partsOf(records, 399);
  expect(parts).toHaveLength(256);
  expect(parts.flat()).toHaveLength(400);
  for (const part of parts) for (const { key } of part) expect(part.filter((one) => one.key === key)).toHaveLength(2);
});

it("writes what belongs together in pieces of 32,768 characters or more, and gives all of it back", async () => {
  const records = [32_768, 20_000, 20_000, 100].map((characters) => recordOf("one", characters));
  const { parts, written } = await partsOf(records, 1);
  expect(written).toEqual([32_768, 40_000]);
  expect(parts.flat()).toEqual(records);
});

it("reads and writes on where the operating system does less than it was asked to", async () => {
  const file = await TemporaryFile.open(undefined);
  const handle = await fs.open(join(directory, "other"), "w");
  const methods = Object.getPrototypeOf(handle);
  await handle.close();
  for (const name of ["read", "write"] as const) {
    const whole = methods[name];
    vi.spyOn(methods, name).mockImplementation(function (this: unknown, ...given: unknown[]) {
      const [bytes, offset, length, position] = given as [Uint8Array, number, number, number];
      if (offset + length > bytes.length) throw new Error("beyond the end");
      return whole.call(this, bytes, offset, Math.min(length, 7), position);
    });
  }
  const texts = ["one text", "another ü", ""];
  const pieces = [];
  for (const text of texts) pieces.push(await file.append(text));
  expect(await Promise.all(pieces.toReversed().map((piece) => file.read(piece)))).toEqual(texts.toReversed());
  await file.close();
});

it("takes its file away at the end where an open one keeps its name, and notices what was done to it", async () => {
  vi.spyOn(fs, "unlink").mockRejectedValueOnce(Object.assign(new Error(), { code: "EPERM" }));
  const file = await TemporaryFile.open(directory);
  const pieces = [await file.append("one"), await file.append("one")];
  const [name = ""] = readdirSync(directory);
  const path = join(directory, name);
  const bytes = await fs.readFile(path);
  const lengths = pieces.map(({ length }) => length);
  // Nothing of the text, and no nonce twice.
  expect(bytes.includes("one")).toBe(false);
  expect(bytes.subarray(0, 12)).not.toEqual(bytes.subarray(lengths[0], 12 + (lengths[0] ?? 0)));
  const failure = (reason: string) => ({
    code: "temporary_file_failed",
    message: `the temporary file that a large comparison needs could not be ${reason}: look at the room and the rights in its directory, or name another one in temporaryDirectory`,
  });
  await fs.writeFile(
    path,
    bytes.map((byte, index) => (index === 20 ? byte ^ 1 : byte)),
  );
  await expect(file.read(pieces[0] as never)).rejects.toMatchObject(failure("read"));
  expect(await file.read(pieces[1] as never)).toBe("one");
  await fs.truncate(path, bytes.length - 1);
  await expect(file.read(pieces[1] as never)).rejects.toMatchObject({
    ...failure("read"),
    cause: expect.objectContaining({ message: expect.stringContaining("shorter than what was written") }),
  });
  await file.close();
  expect(readdirSync(directory)).toEqual([]);
  await expect(file.append("late")).rejects.toMatchObject(failure("written (EBADF)"));
  await expect(TemporaryFile.open(join(directory, "missing"))).rejects.toMatchObject(failure("opened (ENOENT)"));
});

it("says where there are no files what helps", async () => {
  for (const process of [undefined, {}]) {
    vi.stubGlobal("process", process);
    const failure = await TemporaryFile.open(directory).catch((error: unknown) => error);
    vi.unstubAllGlobals();
    expect(String((failure as Error).cause)).toContain("compare shorter periods, or raise maxInMemory");
  }
});
