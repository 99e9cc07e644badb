import { existsSync } from "node:fs";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/journals/sqlite-worker.js";
import { newFile, nodeSqlite } from "../journals/sqlite-fixture.js";
import { eventually } from "../support/eventually.js";

describe.skipIf(nodeSqlite === undefined)("the program of a journal's thread", () => {
  /** Its program in this thread, and the messages that it sends. */
  function serveHere(path: string) {
    const { port1, port2: port } = new MessageChannel();
    const replies: unknown[] = [];
    port.on("message", (reply) => replies.push(reply));
    const listeners = process.listeners("warning");
    onTestFinished(() => {
      port.close();
      for (const listener of listeners) process.on("warning", listener);
    });
    serve(port1, path, { processes: "one", busyTimeoutMs: 50, migrate: true });
    expect(process.listeners("warning")).toEqual([]);
    return { port, replies };
  }

  it("says that its file is open, replies to each message, and closes the file at an empty one", async () => {
    const file = newFile();
    const { port, replies } = serveHere(file);
    port.postMessage([["read", { key: "k" }]]);
    const none = [{ rows: [], changes: 0 }];
    await eventually(() => expect(replies).toEqual([none, none]));
    expect(existsSync(`${file}-wal`)).toBe(true);
    const closed = new Promise((resolve) => port.once("close", resolve));
    port.postMessage([]);
    await closed;
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  it("says why it can't open its file", async () => {
    const { replies } = serveHere(`${newFile()}/none`);
    await eventually(() => expect(replies).toMatchObject([[{ error: { errcode: 14 } }]]));
  });
});
