import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";

/** A path with parameters, such as `/payments/{paymentId}`, taken apart once. */
export interface PathTemplate {
  readonly text: string;
  /** What stands before, between and after the parameters. */
  readonly texts: readonly string[];
  /** Names of the parameters, in order. */
  readonly parameters: readonly string[];
}

export function parsePathTemplate(text: string): PathTemplate {
  const pieces = text.split(/[{}]/);
  return {
    text,
    texts: pieces.filter((_, index) => index % 2 === 0),
    parameters: pieces.filter((_, index) => index % 2 === 1),
  };
}

/**
 * The path with its ids, encoded so that it reaches the wire unchanged.
 *
 * @throws {InvalidArgumentError} when an id can't be part of a path.
 */
export function fillPath(template: PathTemplate, operation: string, ids: readonly string[]): string {
  let path = template.texts[0] ?? "";
  for (let index = 0; index < template.parameters.length; index++) {
    path += encodeId(operation, template.parameters[index] ?? "id", ids[index]) + template.texts[index + 1];
  }
  return path;
}

/**
 * One id as one segment of a path. A service may give ids as JSON numbers: those that are exact are taken.
 *
 * @throws {InvalidArgumentError} for anything else but a string, and for a text that would address another record than was meant.
 */
export function encodeId(operation: string, parameter: string, given: unknown): string {
  const id = Number.isSafeInteger(given) ? String(given) : given;
  if (typeof id !== "string") throw wrongId(operation, `${parameter} must be a string; got ${describeId(id)}`);
  if (noIds.has(id)) {
    const got = id === "" ? "an empty string" : JSON.stringify(id);
    throw wrongId(operation, `${parameter} must be the id of a record; got ${got}`);
  }
  if (controlCharacter.test(id)) {
    throw wrongId(operation, `${parameter} contains a control character, such as a line break`);
  }
  return encode(id, `${operation}: ${parameter}`);
}

/** URLs drop the first three. Templates such as `${id}` make the others if there is no id. */
const noIds: ReadonlySet<string> = new Set(["", ".", "..", "undefined", "null", "[object Object]"]);

function describeId(id: unknown): string {
  if (id === undefined) return "undefined. Is an environment variable unset?";
  return Number.isFinite(id) ? "a number that isn't an exact id" : describeValue(id);
}

function wrongId(operation: string, problem: string): InvalidArgumentError {
  return new InvalidArgumentError(`${operation}: ${problem}`);
}

const controlCharacter = /\p{Cc}/u;

/** `?a=1&b=2` in the order of the values, or an empty string. What is undefined is left out; what is empty is sent empty. */
export function encodeQuery(operation: string, query: Readonly<Record<string, string | number | undefined>>): string {
  let text = "";
  for (const name of Object.keys(query)) {
    const value = query[name];
    if (value === undefined) continue;
    const pair = `${encode(name, `${operation}: the name of a query parameter`)}=${encode(String(value), `${operation}: ${name}`)}`;
    text += (text === "" ? "?" : "&") + pair;
  }
  return text;
}

/** URL parsers rewrite an apostrophe in a query: encoded from the start, it stays as it was signed. */
export function percentEncoded(value: string): string {
  return encodeURIComponent(value).replaceAll("'", "%27");
}

function encode(value: string, what: string): string {
  try {
    return percentEncoded(value);
  } catch {
    throw new InvalidArgumentError(`${what} contains a lone surrogate, which has no encoding`);
  }
}
