import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import type { Dispatcher } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import type { WireRequest } from "../../src/wire/transport.js";
import { exchange, type Route } from "../../src/wire/undici-exchange.js";
import { eventually } from "../support/eventually.js";

type Handler = Required<Dispatcher.DispatchHandler>;

const request: WireRequest = {
  method: "POST",
  origin: "https://service.test",
  path: "/payments",
  headers: {},
  body: Buffer.from("{}"),
  maxResponseBytes: 1000,
};

/** An exchange over a dispatcher that does with its handler what a test wants. */
function play(
  script: (handler: Handler, controller: Dispatcher.DispatchController) => void,
  given: {
    readonly route?: Partial<Route>;
    readonly deadline?: Deadline;
    readonly by?: typeof exchange;
    readonly maxResponseBytes?: number;
  } = {},
) {
  const controller = { abort: vi.fn(), pause: vi.fn(), resume: vi.fn() };
  const deadline = given.deadline ?? new Deadline({});
  onTestFinished(() => deadline.finish());
  const dispatch = vi.fn<Dispatcher["dispatch"]>((_, handler) => {
    script(handler as Handler, controller as never);
    return true;
  });
  const route: Route = { dispatcher: { dispatch }, own: undefined, showsStart: {}, ...given.route };
  const outcome = (given.by ?? exchange)(
    route,
    { ...request, maxResponseBytes: given.maxResponseBytes ?? 1000 },
    deadline,
  ).catch((failure: unknown) => failure);
  return { outcome, controller, route, body: () => dispatch.mock.calls[0]?.[0].body };
}

function errorOf(action: () => void): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

const none = undefined as never;
const ended = (message: string) => expect.objectContaining({ message, code: "UND_ERR_ABORTED" });
const gzip = { "content-encoding": "gzip" };

describe("the start of a request", () => {
  it("is refused once its failure was told, or its deadline is over", async () => {
    const thrown: unknown[] = [];
    const start = (handler: Handler) => void thrown.push(errorOf(() => handler.onRequestStart(none, none)));
    const told = play((handler) => {
      handler.onResponseError(none, Object.assign(new Error(), { code: "ECONNREFUSED" }));
      start(handler);
    });
    expect(await told.outcome).toMatchObject({ sent: false, reason: "ECONNREFUSED" });
    const deadline = new Deadline({ timeoutMs: 100 });
    const late = play(
      (handler) => {
        while (deadline.remainingMs() > 0);
        start(handler);
      },
      { deadline },
    );
    expect(await late.outcome).toMatchObject({ kind: "timeout", sent: false });
    const over = ended("the call has ended");
    expect(thrown).toEqual([over, over]);
  });

  it("marks the body that a dispatcher of the caller's has as read, and no other", () => {
    const { body } = play((handler) => handler.onRequestStart(none, none));
    expect([Readable.isDisturbed(body() as never), Readable.isDisturbed(request.body as never)]).toEqual([true, false]);
  });

  it("is refused a second time, with and without a controller", async () => {
    const thrown: unknown[] = [];
    const { outcome, controller } = play((handler, own) => {
      for (const one of [own, own, none]) thrown.push(errorOf(() => handler.onRequestStart(one, none)));
    });
    expect(await outcome).toMatchObject({ sent: true, reason: "REPEATED_BY_DISPATCHER" });
    const refused = ended("a request is sent once");
    expect(thrown).toEqual([undefined, refused, refused]);
    expect(controller.abort.mock.calls).toEqual([[refused]]);
  });

  it("is a sign for requests of the same kind, once it was shown; one that is not shown is none", async () => {
    const shown = play((handler, controller) => handler.onRequestStart(controller, none));
    expect(shown.route.showsStart).toEqual({ write: true });
    const reset = (handler: Handler) =>
      handler.onResponseError(none, Object.assign(new Error(), { code: "ECONNRESET" }));
    expect(await play(reset, { route: { showsStart: shown.route.showsStart } }).outcome).toMatchObject({
      sent: false,
      reason: "ECONNRESET",
    });
    const hidden = play((handler) => handler.onResponseStart(none, 200, {}, none));
    expect(hidden.route.showsStart).toEqual({ read: false, write: false });
  });

  const verdicts = [
    ["ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH UND_ERR_CONNECT_TIMEOUT", false, false],
    ["CERT_HAS_EXPIRED EPROTO ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE ERR_TLS_CERT_ALTNAME_INVALID", false, true],
    ["DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE", false, true],
    ["HOSTNAME_MISMATCH ERR_INVALID_URL", false, true],
    ["INVALID_PURPOSE", true, true],
    ["ECONNRESET X_ECONNREFUSED ECONNREFUSED_X X_CERT_HAS_EXPIRED", true, false],
  ] as const;
  it.each(verdicts.flatMap(([codes, sent, permanent]) => codes.split(" ").map((code) => ({ code, sent, permanent }))))(
    "may have been hidden before $code, unless that tells of connecting",
    async ({ code, sent, permanent }) => {
      const error = Object.assign(new Error(), { code });
      expect(await play((handler) => handler.onResponseError(none, error)).outcome).toMatchObject({
        ...{ sent, permanent: !sent && permanent, reason: code },
      });
      const thrown = play(() => {
        throw error;
      });
      expect(await thrown.outcome).toMatchObject({ sent: false, permanent, reason: code });
    },
  );
});

it.each([
  [302, false],
  [400, true],
  [407, true],
  [429, false],
  [503, false],
])("a proxy's %i leaves nothing sent, and is permanent: %s", async (status, permanent) => {
  const error = new Error(`Proxy response (${status}) !== 200 when HTTP Tunneling`);
  const refused = play((handler) => handler.onResponseError(none, error));
  const proxy = { origin: undefined, status };
  expect(await refused.outcome).toMatchObject({ sent: false, permanent, reason: `PROXY_RESPONSE_${status}`, proxy });
  const started = play((handler, controller) => {
    handler.onRequestStart(controller, none);
    handler.onResponseError(controller, error);
  });
  expect(await started.outcome).toMatchObject({ sent: true, permanent: false, reason: "Error", proxy: undefined });
});

describe("a process that can't send", () => {
  const own = {} as never;
  const denied = Object.assign(new Error("Access to this API has been restricted"), { code: "ERR_ACCESS_DENIED" });
  const unreadable = Object.assign(new Error("Access to this API has been restricted"), {
    ...{ code: "ERR_ACCESS_DENIED", permission: "FileSystemRead" },
  });
  const lacking = Object.assign(new Error("Cannot find module '../llhttp/llhttp-wasm.js'"), {
    code: "MODULE_NOT_FOUND",
  });
  const missing = new ReferenceError("WebAssembly is not defined");

  it.each([
    [denied, /ERR_ACCESS_DENIED: Access.*this attempt sent nothing; start Node with --allow-net/],
    [unreadable, /undici does not work.*ERR_ACCESS_DENIED: Access.*this attempt sent nothing.*may its files be read/],
    [missing, /ReferenceError: WebAssembly is not defined.*this attempt sent nothing.*is there WebAssembly/],
    [lacking, /MODULE_NOT_FOUND: Cannot find.*this attempt sent nothing; is it installed completely/],
  ])("is told so, and what to do, in place of a connection that failed: %s", async (error, message) => {
    const { outcome } = play((handler) => handler.onResponseError(none, error), { route: { own } });
    expect(await outcome).toMatchObject({
      name: "ConfigError",
      effect: "none",
      message: expect.stringMatching(message),
    });
  });

  it.each([denied, missing])("is not what a request fails for that has started: %s", async (error) => {
    const { outcome } = play(
      (handler, controller) => {
        handler.onRequestStart(controller, {});
        handler.onResponseError(controller, error);
      },
      { route: { own } },
    );
    expect(await outcome).toMatchObject({ name: "WireFailure", sent: true });
  });

  it.each([denied, missing])(
    "is not what a dispatcher of the caller's fails for, which may have sent something: %s",
    async (error) => {
      const { outcome } = play((handler) => handler.onResponseError(none, error));
      expect(await outcome).toMatchObject({ name: "WireFailure", sent: true });
    },
  );
});

describe("a response", () => {
  it("has no status, and takes over no connection", async () => {
    const bare = play((handler, controller) => {
      handler.onRequestStart(controller, none);
      handler.onResponseStart(controller, 1000, {}, none);
      handler.onResponseEnd(controller, {});
    });
    expect(await bare.outcome).toMatchObject({ sent: true, reason: "NO_STATUS" });
    const destroy = vi.fn();
    const upgraded = play((handler, controller) => {
      handler.onRequestStart(controller, none);
      handler.onRequestUpgrade(controller, 101, {}, { destroy } as never);
    });
    expect(await upgraded.outcome).toMatchObject({ sent: true, reason: "UNEXPECTED_UPGRADE" });
    expect(destroy).toHaveBeenCalledOnce();
  });

  it("is stopped once where the call ends, and changes nothing after that", async () => {
    const abort = new AbortController();
    const deadline = new Deadline({ signal: abort.signal });
    const { outcome, controller } = play(
      (handler, own) => {
        handler.onRequestStart(own, none);
        handler.onResponseStart(own, 200, { ...gzip, "x-a": undefined as never, "x-b": ["1", "2"] }, none);
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

  it("is stopped where it is too large, which needs no controller", async () => {
    for (const isShown of [true, false]) {
      let thrown: unknown = "not called";
      const { outcome, controller } = play((handler, own) => {
        if (isShown) handler.onRequestStart(own, none);
        handler.onResponseStart(none, 200, {}, none);
        thrown = errorOf(() => handler.onResponseData(none, Buffer.alloc(1001)));
      });
      expect(thrown).toBeUndefined();
      expect(await outcome).toStrictEqual({ status: 200, headers: {}, text: "", broken: "too-large" });
      expect(controller.abort.mock.calls).toEqual(isShown ? [[ended("the response can't be used")]] : []);
    }
  });

  it("listens to the deadline for as long as it takes, and no longer", async () => {
    const deadline = new Deadline({});
    const stop = vi.fn();
    vi.spyOn(deadline, "onEnd").mockReturnValue(stop);
    await play((handler) => handler.onResponseError(none, new Error()), { deadline }).outcome;
    expect(stop).toHaveBeenCalledTimes(1);
    const { outcome } = play(
      (handler) => {
        handler.onResponseStart(none, 204, {}, none);
        expect(stop).toHaveBeenCalledTimes(1);
        handler.onResponseEnd(none, {});
      },
      { deadline },
    );
    expect(await outcome).toStrictEqual({ status: 204, headers: {}, text: "" });
    expect(stop).toHaveBeenCalledTimes(2);
  });
});

describe("an encoded response", () => {
  it("waits while more of it came than is decoded", async () => {
    const { controller } = play(
      (handler, own) => {
        handler.onRequestStart(own, none);
        handler.onResponseStart(own, 200, gzip, none);
        handler.onResponseData(own, gzipSync(randomBytes(400_000)));
      },
      { maxResponseBytes: 500_000 },
    );
    expect(controller.pause).toHaveBeenCalledOnce();
    await eventually(() => expect(controller.resume).toHaveBeenCalledOnce());
  });

  it("can end before its connection has, which goes on then", async () => {
    let end = () => {};
    const { outcome, controller } = play((handler, own) => {
      handler.onRequestStart(own, none);
      handler.onResponseStart(own, 200, gzip, none);
      handler.onResponseData(own, Buffer.concat([gzipSync("[]"), Buffer.alloc(1)]));
      end = () => handler.onResponseEnd(own, {});
    });
    await eventually(() => expect(controller.resume).toHaveBeenCalledOnce());
    end();
    expect(await outcome).toMatchObject({ text: "[]" });
  });

  it.each([
    ["all of it came", gzipSync("[]"), "[]"],
    ["what came can't be decoded", Buffer.from("no gzip"), ""],
  ])("is cut short where its connection broke, although %s", async (_, bytes, text) => {
    const { outcome } = play((handler, controller) => {
      handler.onRequestStart(controller, none);
      handler.onResponseStart(controller, 200, gzip, none);
      handler.onResponseData(controller, bytes);
      handler.onResponseError(controller, new Error());
    });
    expect(await outcome).toMatchObject({ text, broken: "cut-short" });
  });

  it("can't be read where nothing decodes it", async () => {
    vi.resetModules();
    onTestFinished(() => void vi.resetModules());
    vi.doMock("#platform", () => import("../../src/platform/web.js"));
    const { exchange: by } = await import("../../src/wire/undici-exchange.js");
    vi.doUnmock("#platform");
    const { outcome } = play((handler) => handler.onResponseStart(none, 200, gzip, none), { by });
    expect(await outcome).toStrictEqual({ status: 200, headers: gzip, text: "", broken: "encoded" });
  });
});
