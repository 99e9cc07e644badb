import { once } from "node:events";
import type { Terminal } from "../terminal.js";

/** Writes text as fast as it is read. */
export async function writeOut(text: string, { stdout }: Terminal): Promise<void> {
  if (!stdout.write(text)) await once(stdout, "drain");
}
