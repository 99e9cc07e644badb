import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";

/** A path with parameters, such as `/payments/{paymentId}`, taken apart once. */
export interface PathTemplate {
  readonly text: string;
  /** The texts before, between, and after the parameters. */
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
 * @throws {InvalidArgumentError} if an id can't be part of a path.
 */
export function fillPath(template: PathTemplate, operation: string, ids: readonly string[]): string {
  const { texts, parameters } = template;
  return texts.reduce((path, text, index) => {
    return path + encodeId(operation, parameters[index - 1] ?? "id", ids[index - 1]) + text;
  });
}

/**
 * One id as one segment of a path. A service may give ids as JSON numbers, so exact ones are accepted.
 *
 * @throws {InvalidArgumentError} for anything but a string, and for a text that would address another record.
 */
export function encodeId(operation: string, parameter: string, given: unknown): string {
  const id = Number.isSafeInteger(given) ? String(given) : given;
  const problem = problemOf(id);
  if (problem !== undefined) throw new InvalidArgumentError(`${operation}: ${parameter} ${problem}`);
  return encode(String(id), `${operation}: ${parameter}`);
}

function problemOf(id: unknown): string | undefined {
  if (id === undefined) return "must be a string; got undefined. Is an environment variable unset?";
  if (Number.isFinite(id)) return "must be a string; got a number that isn't an exact id";
  if (typeof id !== "string") return `must be a string; got ${describeValue(id)}`;
  if (id === "") return "must be the id of a record; got an empty string";
  if (noIds.has(id)) return `must be the id of a record; got ${JSON.stringify(id)}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: `\p{Cc}` would take a twentieth of a call
  return /[\0-\x1f\x7f-\x9f]/.test(id) ? "contains a control character, such as a line break" : undefined;
}

/** URLs drop the first two. Templates such as `${id}` make the others if there is no id. */
const noIds: ReadonlySet<string> = new Set([".", "..", "undefined", "null", "[object Object]"]);

/** `?a=1&b=2` in the order of the values, or an empty string. Leaves out what is undefined, and sends empty values. */
export function encodeQuery(operation: string, query: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const key = encode(name, `${operation}: the name of a query parameter`);
    text += `${text === "" ? "?" : "&"}${key}=${encode(String(value), `${operation}: ${name}`)}`;
  }
  return text;
}

function encode(value: string, what: string): string {
  try {
    // URL parsers rewrite an apostrophe in a query. An encoded one stays as it was signed.
    return encodeURIComponent(value).replaceAll("'", "%27");
  } catch {
    throw new InvalidArgumentError(`${what} contains a lone surrogate, which has no encoding`);
  }
}
