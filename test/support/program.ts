import { join } from "node:path";
import { inject } from "vitest";

/** The arguments with which Node runs one of the programs that `build-programs.ts` names: its compiled file. */
export function program(source: string): readonly string[] {
  return [join(inject("programs"), source.replace(/\.ts$/, ".js"))];
}

export const command = program("src/cli/cli.ts").join(" ");
