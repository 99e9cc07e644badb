import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { IdleSockets } from "../../src/platform/idle-sockets.js";

const leastMs = 500;

/** A socket, and what is to be known of it, kept in the plainest way. */
class FakeSocket {
  bytesWritten = 0;
  isDestroyed = false;
  isIdle = false;
  isWritten = false;
  since: readonly [steadyMs: number, wallMs: number] | undefined;

  unref = () => undefined;
  ref = () => undefined;
  once = () => undefined;

  destroy(): void {
    this.isDestroyed = true;
  }

  isDue(idle: boolean): boolean {
    if (this.since === undefined || this.isDestroyed || this.isIdle !== idle || (!idle && this.isWritten)) return false;
    const [steadyMs, wallMs] = this.since;
    return Math.max(performance.now() - steadyMs, Date.now() - wallMs) >= leastMs;
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  return () => vi.useRealTimers();
});

it("destroys each connection that is due and no other, whatever became of the others", () => {
  const index = fc.nat({ max: 2 });
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom("unref", "take", "write"), index }),
    fc.record({ kind: fc.constantFrom("pass", "suspend", "correct"), ms: fc.constantFrom(1, 100, 200, 250, 499, 500) }),
    fc.record({ kind: fc.constantFrom("dispatch", "start") }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: "max" }), (steps) => {
      const sockets = [new FakeSocket(), new FakeSocket(), new FakeSocket()] as const;
      const idle = new IdleSockets();
      for (const socket of sockets) idle.watch(socket);
      for (const step of steps) {
        if ("ms" in step) {
          const wallMs = Date.now();
          if (step.kind !== "suspend") vi.advanceTimersByTime(step.ms);
          if (step.kind !== "pass") vi.setSystemTime(step.kind === "suspend" ? wallMs + step.ms : wallMs);
        } else if ("index" in step) {
          const socket = sockets[step.index] as FakeSocket;
          if (socket.isDestroyed) continue;
          if (step.kind === "unref") {
            socket.unref();
            Object.assign(socket, { isIdle: true, isWritten: false, since: [performance.now(), Date.now()] });
          } else if (step.kind === "take") {
            socket.ref();
            socket.isIdle = false;
          } else if (!socket.isIdle) {
            socket.bytesWritten += 1;
            socket.isWritten = true;
          }
        } else {
          const isDispatch = step.kind === "dispatch";
          const due = sockets.map((socket) => socket.isDestroyed || socket.isDue(isDispatch));
          const isAny = sockets.some((socket) => socket.isDue(isDispatch));
          if (isDispatch) idle.destroyIdleFor(leastMs);
          else expect(idle.destroyTakenAfter(leastMs)).toBe(isAny);
          expect(sockets.map(({ isDestroyed }) => isDestroyed)).toEqual(due);
        }
      }
    }),
  );
});

it("counts the time in which the machine was suspended after its clock was set back", () => {
  const idle = new IdleSockets();
  const socket = new FakeSocket();
  idle.watch(socket);
  vi.setSystemTime(Date.now() - 1000);
  socket.unref();
  vi.setSystemTime(Date.now() + 1000);
  idle.destroyIdleFor(leastMs);
  expect(socket.isDestroyed).toBe(true);
});
