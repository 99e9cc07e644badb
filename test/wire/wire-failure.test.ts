import { describe, expect, it } from "vitest";
import {
  closingHint,
  describeProxyRefusal,
  isStatus,
  proxyRefusalOf,
  reasonOf,
  WireFailure,
} from "../../src/wire/wire-failure.js";

it("can be tried again unless it says otherwise, and has its reason for a message", () => {
  const failure = new WireFailure({ sent: true, reason: "ECONNRESET" });
  expect(failure).toMatchObject({ name: "WireFailure", message: "ECONNRESET", sent: true, permanent: false });
  const refusal = { origin: "http://proxy.test:3128", status: 407 };
  expect(new WireFailure({ sent: false, permanent: true, reason: "PROXY", proxy: refusal })).toMatchObject({
    sent: false,
    permanent: true,
    proxy: refusal,
  });
});

describe("a proxy's refusal", () => {
  const error = new Error("Proxy response (407) !== 200 when HTTP Tunneling");

  it("is known by undici's words alone", () => {
    expect(proxyRefusalOf(error, { proxyOrigin: "http://proxy.test:3128" })).toEqual({
      origin: "http://proxy.test:3128",
      status: 407,
    });
    expect(proxyRefusalOf(error, { proxyOrigin: 7 })).toEqual({ origin: undefined, status: 407 });
    expect(proxyRefusalOf(error, undefined)).toEqual({ origin: undefined, status: 407 });
    for (const message of ["", `so: ${error.message}`, `${error.message}!`, error.message.replace("407", "4070")]) {
      expect(proxyRefusalOf(new Error(message), undefined)).toBeUndefined();
    }
    for (const thrown of [undefined, null, "text"]) expect(proxyRefusalOf(thrown, undefined)).toBeUndefined();
  });

  it("says which proxy, to where, and what to check", () => {
    expect(describeProxyRefusal({ origin: "http://proxy.test:3128", status: 407 }, "https://service.test")).toBe(
      "the proxy http://proxy.test:3128 made no connection to https://service.test (407); check the user and the password in the proxy's address",
    );
    expect(describeProxyRefusal({ origin: undefined, status: 403 }, "https://service.test")).toBe(
      "the proxy made no connection to https://service.test (403); check which addresses it lets through",
    );
  });
});

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

it.each(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"])("hints at a client certificate after %s over TLS", (reason) => {
  const hint = "; if the server wants a client certificate, give one as tls.cert and tls.key";
  expect(closingHint("https://service.test", reason)).toBe(hint);
  expect(closingHint("http://service.test", reason)).toBe("");
  expect(closingHint("https://service.test", `X${reason}`)).toBe("");
  expect(closingHint("https://service.test", `${reason}X`)).toBe("");
});

it.each([
  [100, true],
  [999, true],
  [1000, false],
  [200.5, false],
  ["200", false],
  [undefined, false],
])("takes for a status: %s, %s", (value, verdict) => {
  expect(isStatus(value)).toBe(verdict);
});
