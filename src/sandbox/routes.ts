import type { Operation } from "../api/operation.js";
import { operations } from "../resources/catalogue.js";
import { SandboxRefusal } from "./responses.js";

/** An operation, and the values of its path's parameters in order. */
export interface Route {
  readonly operation: Operation;
  readonly params: readonly string[];
}

/**
 * The operation that a path on the wire stands for, read from the rows of the description's table.
 *
 * @throws {SandboxRefusal} 404 when no row has this path, 405 when none has it with this method.
 */
export function routeOf(method: string, path: string, basePath: string): Route {
  const matches = path.startsWith(`${basePath}/`) ? matchesOf(path.slice(basePath.length)) : [];
  const match = matches.find(({ operation }) => operation.method === method);
  if (match !== undefined) return match;
  if (matches.length === 0) throw new SandboxRefusal("unknown_path", "there is no operation at this path", 404);
  const allow = matches.map(({ operation }) => operation.method).join(", ");
  throw new SandboxRefusal("method_not_allowed", `this path takes ${allow}`, 405, { allow });
}

const templates: readonly (readonly [operation: Operation, segments: readonly string[]])[] = [
  ...operations.values(),
].map((operation) => [operation, operation.path.text.split("/")]);

function matchesOf(path: string): Route[] {
  const segments = path.split("/");
  return templates.flatMap(([operation, template]) => {
    const params = paramsOf(template, segments);
    return params === undefined ? [] : [{ operation, params }];
  });
}

function paramsOf(template: readonly string[], segments: readonly string[]): string[] | undefined {
  if (template.length !== segments.length) return undefined;
  const params: string[] = [];
  for (const [index, wanted] of template.entries()) {
    const found = segments[index] ?? "";
    if (wanted.startsWith("{")) params.push(decoded(found));
    else if (wanted !== found) return undefined;
  }
  return params;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new SandboxRefusal("unknown_path", "the path is not percent-encoded UTF-8", 404);
  }
}
