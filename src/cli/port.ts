import { UsageError } from "./command.js";

/** What `--port` says; 0, any that is free, where it is left out. @throws {UsageError} */
export function portOf(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError("--port is a number from 1 to 65535");
}
