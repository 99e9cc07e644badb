import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { FlowCipher } from "../../flows/index.js";
import { UsageError } from "../command.js";

/** The cipher of a service: what a module of its own exports, by these names or by default. @throws {UsageError} */
export async function loadCipher(path: string): Promise<FlowCipher> {
  const module = await importModule(path);
  const found = typeof module.encrypt === "function" ? module : Object(module.default);
  if (typeof found.encrypt !== "function" || typeof found.decrypt !== "function") {
    throw new UsageError(`--cipher: ${path} exports no functions encrypt and decrypt`);
  }
  return found;
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw new UsageError(`--cipher: ${path} can't be loaded: ${String(error)}`);
  }
}
