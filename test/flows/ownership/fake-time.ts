import { onTestFinished, vi } from "vitest";

/** Until the test is over. */
export function useFakeTime(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}
