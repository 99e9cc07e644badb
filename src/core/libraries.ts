import { describeThrown } from "./describe.js";
import { ConfigError } from "./errors.js";

export type OpenIdClient = typeof import("openid-client");
export type Zod = typeof import("./zod.js");

/** The client's constructor begins to load what its options need, and waits for nothing. Undici is loaded by `platform/undici-agent.ts`. */
export function loadOpenIdClient(): Promise<OpenIdClient> {
  return loaded("openid-client", import("openid-client"));
}

export function loadZod(): Promise<Zod> {
  return loaded("zod", import("./zod.js"));
}

/** @throws {ConfigError} a new one for each call, since flows add facts to theirs. */
export async function loaded<Module>(name: string, loading: Promise<Module>): Promise<Module> {
  try {
    return await loading;
  } catch (error) {
    const cause = describeThrown(error);
    throw new ConfigError(
      `The package ${name} can't be loaded: ${cause.message}. Nothing was sent. Check that it is installed and supports this version of Node. A bundle that is an ES module for Node needs a require: see docs/bundling.md.`,
      { cause },
    );
  }
}
