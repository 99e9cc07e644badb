import { afterEach, beforeEach, vi } from "vitest";

/** In every test of a file, the wait before a page is asked for once more takes no time. */
export function withoutWaiting(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    vi.setTimerTickMode("nextTimerAsync");
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}
