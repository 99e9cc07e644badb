import { expect, it } from "vitest";
import { KeyTurns } from "../../src/journals/key-turns.js";
import { deferred } from "../support/deferred.js";

/** Work that says when it starts, and ends when it is told to. */
function works(turns: KeyTurns) {
  const started: string[] = [];
  const ends: Record<string, () => void> = {};
  const take = (key: string, name: string) =>
    turns.take(key, async () => {
      started.push(name);
      const { promise, resolve } = deferred();
      ends[name] = resolve;
      await promise;
      return name;
    });
  return { started, take, end: (name: string) => ends[name]?.() };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

it("lets work on one key go one after the other, and on another at once", async () => {
  const { started, take, end } = works(new KeyTurns());
  const all = [take("a", "a1"), take("a", "a2"), take("b", "b1"), take("a", "a3")];
  expect(started).toEqual(["a1", "b1"]);
  end("a1");
  await turn();
  expect(started).toEqual(["a1", "b1", "a2"]);
  // After the end of the first, whoever comes still waits for the last.
  all.push(take("a", "a4"));
  for (const name of ["a2", "a3", "a4", "b1"]) {
    end(name);
    await turn();
  }
  expect(started).toEqual(["a1", "b1", "a2", "a3", "a4"]);
  expect(await Promise.all(all)).toEqual(["a1", "a2", "b1", "a3", "a4"]);
  const again = take("a", "a5");
  expect(started.at(-1)).toBe("a5");
  end("a5");
  await again;
});

it("goes on after work that failed", async () => {
  const turns = new KeyTurns();
  const failed = turns.take("a", () => Promise.reject(new Error("mine")));
  const next = turns.take("a", async () => "next");
  await expect(failed).rejects.toThrow("mine");
  expect(await next).toBe("next");
});

it("is idle when all have ended, those that came meanwhile too", async () => {
  const turns = new KeyTurns();
  const { take, end } = works(turns);
  await turns.idle();
  void take("a", "a1");
  let isIdle = false;
  const idle = turns.idle().then(() => {
    isIdle = true;
  });
  void take("b", "b1");
  end("a1");
  await turn();
  expect(isIdle).toBe(false);
  end("b1");
  await idle;
});
