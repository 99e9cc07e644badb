import { expect, it, onTestFinished, vi } from "vitest";
import { connectHandle } from "../../src/journals/sqlite-connection.js";
import { newFile, nodeSqlite, openHandle } from "../journals/sqlite-fixture.js";

it.skipIf(nodeSqlite === undefined)(
  "stores what it is asked for, and what waits before it is closed: the handle may be closed next",
  async () => {
    const database = openHandle(newFile());
    const connection = connectHandle(database);
    await connection.exec("PRAGMA journal_mode = WAL; CREATE TABLE numbers (number INTEGER)");
    await connection.start({ add: "INSERT INTO numbers VALUES (?)" });
    for (const number of [1, 2]) {
      const reply = await connection.run([["add", [number]]]);
      expect(reply).toEqual({ rows: [], changes: 1 });
    }
    const replies = [3, 4].map((number) => connection.run([["add", [number]]]));
    await connection.close();
    expect(await connection.all("SELECT number FROM numbers")).toEqual([1, 2, 3, 4].map((number) => ({ number })));
    database.close();
    expect(await Promise.all(replies)).toEqual([1, 2].map(() => ({ rows: [], changes: 1 })));
  },
);

it.skipIf(nodeSqlite === undefined)(
  "stores what it is asked for while somebody's test has the timers in its hands",
  async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const connection = connectHandle(openHandle(newFile()));
    await connection.exec("CREATE TABLE numbers (number INTEGER)");
    await connection.start({ add: "INSERT INTO numbers VALUES (?)" });
    expect(await connection.run([["add", [1]]])).toEqual({ rows: [], changes: 1 });
  },
);
