import { expect, it } from "vitest";
import {
  isPassingStatus,
  isRefusedQuestion,
  parseJsonObject,
  parseObject,
  provesNothing,
} from "../../src/wire/response.js";
import { reasonOf } from "../../src/wire/transport.js";

const statuses = Array.from({ length: 200 }, (_, index) => 400 + index);

it("knows of each status what it leaves open, whether it passes, and whether it refuses the question", () => {
  expect(statuses.filter(provesNothing)).toEqual([408, 409, 421, 425, 499]);
  expect(statuses.filter(isPassingStatus)).toEqual([408, 425, 429, ...statuses.slice(100)]);
  expect(statuses.filter(isRefusedQuestion)).toEqual([400, 422]);
});

it.each(["[]", "[1]", "null", "7", '"text"', "true", "", "{", '{"a":1} '.repeat(2)])(
  "takes %s for no object",
  (text) => {
    expect(parseObject(text)).toBeUndefined();
    expect(parseJsonObject(text)).toEqual({});
  },
);

it("gives an object as it is", () => {
  expect(parseObject('{"a":{"b":[1]}}')).toEqual({ a: { b: [1] } });
  expect(parseJsonObject("{}")).toEqual({});
});

it.each([
  [{ code: "ECONNREFUSED", name: "Error" }, "ECONNREFUSED"],
  [{ code: "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE" }, "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE"],
  [{ code: 7, name: "TypeError" }, "TypeError"],
  [{ code: "connect to 10.0.0.1", name: "TypeError" }, "TypeError"],
  [{ code: "a secret CODE" }, "UNKNOWN"],
  [{ code: "A".repeat(65) }, "UNKNOWN"],
  [undefined, "UNKNOWN"],
  [null, "UNKNOWN"],
  ["ECONNRESET", "UNKNOWN"],
])("shows the code of what was thrown, and never its words: %j", (thrown, reason) => {
  expect(reasonOf(thrown)).toBe(reason);
});
