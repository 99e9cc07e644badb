import { join } from "node:path";
import { inject } from "vitest";

/** The compiled file of one of the programs that `build-programs.ts` names. */
export function program(source: string): string {
  return join(inject("programs"), source.replace(/\.ts$/, ".js"));
}

/** The command, as the arguments of Node. */
export const command = program("src/cli/cli.ts");
