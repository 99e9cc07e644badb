import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import {
  assertOptions,
  isBoolean,
  isPositiveInteger,
  type OptionTable,
  parseOptions,
  withDefaults,
} from "../../src/core/parse.js";

interface Options {
  readonly name: string;
  readonly size?: number | undefined;
  readonly fast?: boolean | undefined;
  readonly password?: string | undefined;
}

const table = {
  name: {
    accepts: (value) => typeof value === "string" && value !== "",
    wanted: "a name",
    isRequired: true,
    documentation: "the name",
  },
  size: { accepts: isPositiveInteger, wanted: "a whole number above 0", default: 10, documentation: "the size" },
  fast: { accepts: isBoolean, wanted: "true or false", default: true, documentation: "no waiting" },
  password: {
    accepts: (value) => typeof value === "string" && value.length >= 12,
    wanted: "a password of 12 characters or more",
    documentation: "the password",
  },
} satisfies OptionTable<Options>;

const check = (given: unknown) => () =>
  assertOptions(table, given, "the client's options", (message) => new InvalidArgumentError(message), " (ask no more)");

describe("options against their table", () => {
  it("pass where each is what it must be, and where those that may be left out are", () => {
    expect(check({ name: "a", size: 1, fast: false, password: "twelve letters" })).not.toThrow();
    expect(check({ name: "a" })).not.toThrow();
    expect(check({ name: "a", size: undefined })).not.toThrow();
  });

  it.each([
    ["null", null, "null"],
    ["an array", [], "an array"],
    ["a string", "name", "a string"],
    ["nothing", undefined, "undefined"],
  ])("must be an object: %s is refused", (_, given, found) => {
    expect(check(given)).toThrow(new InvalidArgumentError(`the client's options must be an object; got ${found}`));
  });

  it.each(["colour", "constructor", "toString"])("that do not exist are refused, with those that do: %s", (name) => {
    expect(check({ name: "a", [name]: undefined })).toThrow(
      new InvalidArgumentError(
        `unknown option ${JSON.stringify(name)}; the options are name, size, fast, password (ask no more)`,
      ),
    );
  });

  it.each([
    ["timeout", "timeoutMs"],
    ["timeoutms", "timeoutMs"],
    ["retries", "maxRetries"],
    ["baseURL", "baseUrl"],
    ["signignKey", "signingKey"],
    ["colour", undefined],
    ["ms", undefined],
  ])("that do not exist are told with the one that was probably meant: %s", (name, meant) => {
    const table = Object.fromEntries(
      ["baseUrl", "timeoutMs", "maxRetries", "signingKey"].map((option) => [
        option,
        { accepts: () => true, wanted: "" },
      ]),
    );
    const suggested = () => parseOptions(table, { [name]: 1 }, "it", (message) => new Error(message));
    const advice = meant === undefined ? "; the options are " : `. Did you mean "${meant}"?`;
    expect(suggested).toThrow(`unknown option "${name}"${advice}`);
  });

  it("that are required can't be left out", () => {
    expect(check({})).toThrow(new InvalidArgumentError("name must be a name; got undefined"));
  });

  it.each([
    ["a number", { size: -0.5 }, "size must be a whole number above 0; got -0.5"],
    ["no number", { size: Number.NaN }, "size must be a whole number above 0; got NaN"],
    ["a boolean", { size: true }, "size must be a whole number above 0; got true"],
    ["a string", { password: "hunter22" }, "password must be a password of 12 characters or more; got a string"],
    ["an empty string", { password: "" }, "password must be a password of 12 characters or more; got an empty string"],
    ["an object", { fast: { password: "hunter22" } }, "fast must be true or false; got an object"],
    ["null", { fast: null }, "fast must be true or false; got null"],
  ])("are refused with what was found; %s shows no secret", (_, wrong, message) => {
    expect(check({ name: "a", ...wrong })).toThrow(new InvalidArgumentError(message));
  });
});

describe("defaults", () => {
  it("stand where nothing is given, or undefined", () => {
    expect(withDefaults<Options, typeof table>(table, { name: "a", size: undefined })).toEqual({
      name: "a",
      size: 10,
      fast: true,
      password: undefined,
    });
  });

  it("give way to what is given, false and 0 included", () => {
    const given = { name: "", size: 0, fast: false, password: "" };
    expect(withDefaults<Options, typeof table>(table, given)).toEqual(given);
  });
});
