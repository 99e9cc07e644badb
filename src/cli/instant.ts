import { parseTime } from "../reconcile/options.js";
import { UsageError } from "./command.js";

/**
 * Milliseconds since 1970 of a time that an option names: a day, which begins in UTC as the service's times are, `yesterday`, `today`, or a
 * time with its zone.
 *
 * @throws {UsageError}
 */
export function parseInstant(option: string, text: string, now: Date): number {
  const refuse = () =>
    new UsageError(
      `--${option} is a day such as 2026-01-31 (its beginning in UTC), yesterday, today, or a time with its zone such as 2026-01-31T00:00:00+03:00, and not ${JSON.stringify(text)}`,
    );
  const day = dayOf(text, now);
  return parseTime(option, day === undefined ? text : `${day}T00:00:00Z`, refuse);
}

function dayOf(text: string, now: Date): string | undefined {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return text;
  const daysAgo = ["today", "yesterday"].indexOf(text);
  return daysAgo < 0 ? undefined : new Date(now.getTime() - daysAgo * 86_400_000).toISOString().slice(0, 10);
}
