import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { onConnection } from "../../src/journals/postgres-pool.js";

function fakePool() {
  const released: unknown[] = [];
  const connection = Object.assign(new EventEmitter(), {
    query: async () => ({ rows: [] }),
    release: (destroy?: boolean) => released.push(destroy),
  });
  return { connection, released, connect: async () => connection };
}

it("outlives a connection that breaks between two statements, and closes it", async () => {
  const { connection, released, connect } = fakePool();
  const work = async () => {
    connection.emit("error", new Error("the server ended it"));
    throw new Error("the next statement");
  };
  await expect(onConnection({ connect }, work)).rejects.toThrow("the next statement");
  expect([released, connection.listenerCount("error")]).toEqual([[true], 0]);
});

it("gives a connection back whose work is done", async () => {
  const { connection, released, connect } = fakePool();
  expect(await onConnection({ connect }, async ({ query }) => (await query("SELECT 1")).rows)).toEqual([]);
  expect([released, connection.listenerCount("error")]).toEqual([[false], 0]);
});
