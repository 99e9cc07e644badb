import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { describeForeignError } from "../../../src/flows/state/describe-foreign-error.js";

describe("what is stored of an error of the bank's", () => {
  it("says where its text is to be found", () => {
    const { message } = describeForeignError(new Error("secret"));
    expect(message).toMatch(/not stored: .* as its cause/);
  });

  it("has no code where the error has none", () => {
    expect(describeForeignError(new Error("secret"))).not.toHaveProperty("errorCode");
  });

  it("has no code that is a number", () => {
    expect(describeForeignError(Object.assign(new Error("secret"), { code: 14 }))).not.toHaveProperty("errorCode");
  });

  it("knows an error of another realm, as those of Node are where Jest runs the tests", () => {
    const thrown: unknown = runInNewContext('Object.assign(new RangeError("secret"), { code: "ENOENT" })');
    expect(thrown).not.toBeInstanceOf(Error);
    expect(describeForeignError(thrown)).toMatchObject({ code: "RangeError", errorCode: "ENOENT" });
  });

  it.each([["secret"], [{ message: "secret" }], [undefined], [null]])("of %o says that it is no error", (thrown) => {
    expect(describeForeignError(thrown)).toEqual({ code: typeof thrown, message: "what was thrown is no error" });
  });
});
