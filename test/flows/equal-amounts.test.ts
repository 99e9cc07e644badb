import { describe, expect, it } from "vitest";
import { equalAmounts } from "../../src/flows/equal-amounts.js";

describe("two amounts", () => {
  it.each([
    ["1.5", "1.50"],
    ["150", "150.000"],
    ["-0", "0"],
    ["007", "7"],
    ["12345678901234567890.1", "12345678901234567890.10"],
    ["1e2", "1e2"],
    ["", ""],
  ])("are equal where they have the same value, or the same text: %j and %j", (one, other) => {
    expect([equalAmounts(one, other), equalAmounts(other, one)]).toEqual([true, true]);
  });

  it.each([
    ["1.5", "1.51"],
    ["1", "-1"],
    ["12345678901234567890.1", "12345678901234567890.2"],
    ["1e2", "100"],
    ["1e2", "1e+2"],
    [" 100", "100"],
    ["about 100", "100"],
  ])("are not equal where their values differ, or one is no numeral: %j and %j", (one, other) => {
    expect([equalAmounts(one, other), equalAmounts(other, one)]).toEqual([false, false]);
  });

  it.each([
    [5, "5"],
    [5, 5],
    [undefined, "5"],
    [null, null],
    [["5"], "5"],
  ])("are not equal where one is no text: %j and %j", (one, other) => {
    expect([equalAmounts(one, other), equalAmounts(other, one)]).toEqual([false, false]);
  });
});
