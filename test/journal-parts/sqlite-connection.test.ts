import { expect, it } from "vitest";
import { connectHandle } from "../../src/journals/sqlite-connection.js";
import { newFile, nodeSqlite, openHandle } from "../journals/sqlite-fixture.js";

it.skipIf(nodeSqlite === undefined)(
  "has stored what waited when it is closed: the handle may be closed next",
  async () => {
    const database = openHandle(newFile());
    const connection = connectHandle(database);
    await connection.exec("PRAGMA journal_mode = WAL; CREATE TABLE numbers (number INTEGER)");
    await connection.start({ add: "INSERT INTO numbers VALUES (?)" });
    const replies = [1, 2].map((number) => connection.run({ steps: [["add", [number]]], isRead: false }));
    await connection.close();
    expect(await connection.all("SELECT number FROM numbers")).toEqual([{ number: 1 }, { number: 2 }]);
    database.close();
    expect(await Promise.all(replies)).toEqual([1, 2].map(() => ({ rows: [], changes: 1 })));
  },
);
