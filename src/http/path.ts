import { describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";

/** A path template in pieces: what stands before, between and after the parameters. */
export interface PathTemplate {
  readonly texts: readonly string[];
  readonly parameters: readonly string[];
}

/** Takes a template such as `/payments/{paymentId}` apart, once. `base` is the base path, without a slash at its end. */
export function parsePathTemplate(base: string, template: string): PathTemplate {
  const pieces = (base + template).split(/[{}]/);
  return {
    texts: pieces.filter((_, index) => index % 2 === 0),
    parameters: pieces.filter((_, index) => index % 2 === 1),
  };
}

/**
 * The path with the values in it, encoded so that it reaches the wire as it is.
 *
 * @throws {InvalidArgumentError} when a value can be no part of a path.
 */
export function fillPath(template: PathTemplate, operation: string, values: readonly string[]): string {
  let path = template.texts[0] ?? "";
  for (let index = 0; index < template.parameters.length; index++) {
    path += encodePathValue(operation, template.parameters[index] ?? "id", values[index]) + template.texts[index + 1];
  }
  return path;
}

/**
 * One value as one segment of a path.
 *
 * @throws {InvalidArgumentError} on an empty text, `.`, `..`, a lone surrogate, and on anything that is no text: each of them
 *   would address another record than was meant.
 */
export function encodePathValue(operation: string, parameter: string, value: unknown): string {
  if (typeof value !== "string") {
    throw new InvalidArgumentError(`${operation}: ${parameter} must be a string; found ${describeValue(value)}`);
  }
  if (value === "" || value === "." || value === "..") {
    const found = value === "" ? "an empty string" : JSON.stringify(value);
    throw new InvalidArgumentError(`${operation}: ${parameter} must be the id of a record; found ${found}`);
  }
  return encode(value, `${operation}: ${parameter}`);
}

/** `?a=1&b=2` in the order of the values, or an empty text. What is undefined is left out; what is empty is sent empty. */
export function encodeQuery(operation: string, query: Readonly<Record<string, string | number | undefined>>): string {
  let text = "";
  for (const name in query) {
    const value = query[name];
    if (value === undefined) continue;
    const pair = `${encode(name, `${operation}: a query field's name`)}=${encode(String(value), `${operation}: ${name}`)}`;
    text += (text === "" ? "?" : "&") + pair;
  }
  return text;
}

function encode(value: string, what: string): string {
  try {
    // In a query, URL parsers rewrite the apostrophe: encoded from the start, it stays as it was signed.
    return encodeURIComponent(value).replaceAll("'", "%27");
  } catch {
    throw new InvalidArgumentError(`${what} holds half of a surrogate pair, which has no encoding`);
  }
}
