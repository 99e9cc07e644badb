import type { Dispatcher } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import { exchange } from "../../src/wire/undici.js";
import { thrownBy } from "../signing/test-keys.js";
import { post } from "./exchange-fixture.js";

type Handler = Required<Dispatcher.DispatchHandler>;

/** An exchange over a dispatcher that does with its handler what a test wants. */
function play(
  script: (handler: Handler, controller: Dispatcher.DispatchController) => void,
  given: {
    readonly showsStart?: boolean;
    readonly deadline?: Deadline;
  } = {},
) {
  const controller = { abort: vi.fn(), pause: vi.fn(), resume: vi.fn() };
  const deadline = given.deadline ?? new Deadline({});
  onTestFinished(() => deadline.finish());
  const dispatch = vi.fn<Dispatcher["dispatch"]>((_, handler) => {
    script(handler as Handler, controller as never);
    return true;
  });
  const exchanger = { dispatch, showsStart: given.showsStart ?? true };
  const outcome = exchange(exchanger, post("https://service.test"), deadline).catch((failure: unknown) => failure);
  return { outcome, controller };
}

const none = undefined as never;
const ended = (message: string) => expect.objectContaining({ message, code: "UND_ERR_ABORTED" });
const gzip = { "content-encoding": "gzip" };

describe("the start of a request", () => {
  it("is refused once its failure was told", async () => {
    let thrown: unknown;
    const told = play((handler) => {
      handler.onResponseError(none, Object.assign(new Error(), { code: "ECONNREFUSED" }));
      thrown = thrownBy(() => handler.onRequestStart(none, none));
    });
    expect(await told.outcome).toMatchObject({ sent: false, reason: "ECONNREFUSED" });
    expect(thrown).toEqual(ended("the call has ended"));
  });

  it("is refused a second time, and the request aborted", async () => {
    let thrown: unknown;
    const { outcome, controller } = play((handler, own) => {
      handler.onRequestStart(own, none);
      thrown = thrownBy(() => handler.onRequestStart(own, none));
    });
    expect(await outcome).toMatchObject({ sent: true, reason: "REPEATED_BY_DISPATCHER" });
    const refused = ended("a request is sent once");
    expect([thrown, controller.abort.mock.calls]).toEqual([refused, [[refused]]]);
  });

  const coded = (code: string) => Object.assign(new Error("no words of it"), { code });
  it.each([
    ["ECONNREFUSED", false],
    ["CERT_HAS_EXPIRED", true],
    ["EPROTO", true],
    ["ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE", true],
    ["X_CERT_HAS_EXPIRED", false],
  ])("decides whether %s was sent; before it, that may be permanent: %s", async (code, permanent) => {
    const fail = (handler: Handler) => handler.onResponseError(none, coded(code));
    const start = (handler: Handler, controller: Dispatcher.DispatchController) => {
      handler.onRequestStart(controller, none);
      fail(handler);
    };
    expect(await play(fail).outcome).toMatchObject({ sent: false, permanent, reason: code });
    expect(await play(start).outcome).toMatchObject({ sent: true, permanent: false, reason: code });
    expect(await play(fail, { showsStart: false }).outcome).toMatchObject({
      sent: true,
      permanent: false,
      reason: code,
    });
  });

  it("may have come before a dispatcher threw, or aborted what it did not begin", async () => {
    const throwing = () => {
      throw coded("UND_ERR_INVALID_ARG");
    };
    expect(await play(throwing).outcome).toMatchObject({ sent: false, permanent: true });
    const refuse = (handler: Handler) => handler.onResponseError(none, coded("UND_ERR_ABORTED"));
    expect(await play(refuse).outcome).toMatchObject({ sent: false, permanent: true, reason: "PROXY_REFUSED" });
    const others = play(refuse, { showsStart: false });
    expect(await others.outcome).toMatchObject({ sent: true, reason: "UND_ERR_ABORTED" });
  });
});

describe("a response", () => {
  it("is stopped once if the call ends, and changes nothing after that", async () => {
    const abort = new AbortController();
    const deadline = new Deadline({ signal: abort.signal });
    const { outcome, controller } = play(
      (handler, own) => {
        handler.onRequestStart(own, none);
        handler.onResponseStart(own, 200, { ...gzip, "x-b": ["1", "2"] }, none);
        abort.abort();
        handler.onResponseStart(own, 500, {}, none);
        handler.onResponseData(own, Buffer.alloc(100_000));
        handler.onResponseEnd(own, {});
        handler.onResponseError(own, new Error());
      },
      { deadline },
    );
    expect(await outcome).toStrictEqual({
      ...{ status: 200, text: "", broken: "abort" },
      headers: { ...gzip, "x-b": "1, 2" },
    });
    expect(controller.abort.mock.calls).toEqual([[ended("the call has ended")]]);
  });
});
