import { expect, it } from "vitest";
import { reasonOf } from "../../src/wire/transport.js";

it.each([
  [{ code: "ECONNREFUSED", name: "Error" }, "ECONNREFUSED"],
  [{ code: "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE" }, "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE"],
  [{ code: 7, name: "TypeError" }, "TypeError"],
  [{ code: "connect to 10.0.0.1", name: "TypeError" }, "TypeError"],
  [{ code: "CODE of a secret" }, "UNKNOWN"],
  [{ code: "a secret CODE" }, "UNKNOWN"],
  [{ code: "ERR_SSL_A of a secret" }, "UNKNOWN"],
  [{ code: "a/ERR_SSL_A" }, "UNKNOWN"],
  [{ code: "A".repeat(64) }, "A".repeat(64)],
  [{ code: "A".repeat(65) }, "UNKNOWN"],
  [{ code: "" }, "UNKNOWN"],
  [{}, "UNKNOWN"],
  [undefined, "UNKNOWN"],
  [null, "UNKNOWN"],
  ["ECONNRESET", "UNKNOWN"],
])("shows the code of what was thrown, and never its words: %j", (thrown, reason) => {
  expect(reasonOf(thrown)).toBe(reason);
});
