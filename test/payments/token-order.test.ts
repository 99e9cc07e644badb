import { describe, expect, it } from "vitest";
import { TokenOrder } from "../../src/payments/token-order.js";

function orderOf(...tokens: readonly string[]): TokenOrder {
  const order = new TokenOrder();
  for (const token of tokens) order.add(token);
  return order;
}

describe("paging tokens, one record after the other,", () => {
  it.each([
    ["no token", [], undefined, true],
    ["one token", ["5"], undefined, true],
    ["two numbers that grow", ["9", "11"], "up", true],
    ["two numbers that fall", ["11", "9"], "down", true],
    ["numbers that grow", ["9", "11", "100"], "up", true],
    ["numbers that fall, and as texts too at last", ["100", "95", "9"], "down", false],
    ["numbers that fall, and grow as texts", ["100", "11", "9"], "down", true],
    ["numbers that grow as texts", ["10", "9", "95"], "up", true],
    ["numbers that fall as texts", ["95", "9", "10"], "down", false],
    ["texts that grow", ["a", "b", "c"], "up", true],
    ["texts that fall", ["c", "b", "a"], "down", false],
    ["tokens that turn back", ["1", "3", "2"], undefined, false],
    ["tokens that turn back and go on", ["1", "3", "2", "4"], undefined, false],
    ["a token that comes twice", ["5", "5"], undefined, false],
    ["a token that comes twice, as a number", ["5", "05", "06"], undefined, false],
  ])("%s", (_, tokens, direction, mayGoUp) => {
    const order = orderOf(...tokens);
    expect([order.count, order.direction, order.mayGoUp]).toEqual([tokens.length, direction, mayGoUp]);
  });
});
