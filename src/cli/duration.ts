import { UsageError } from "./command.js";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration such as `30s` or `400d`. @throws {UsageError} */
export function parseDuration(option: string, text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(count) * (units[unit] ?? 0);
  if (ms > 0) return ms;
  throw new UsageError(
    `--${option} is a number and a unit (ms, s, m, h or d), such as 30s or 400d, and not ${JSON.stringify(text)}`,
  );
}
