import { Console } from "node:console";
import { Writable } from "node:stream";
import { inspect } from "node:util";
import { CrossBorderClient } from "cross-border-payments";
import pino, { type Level } from "pino";
import { describe, expect, it, vi } from "vitest";
import type { FlowEvent } from "../../src/events/events.js";
import { isLogger, type Logger, logListener } from "../../src/events/log-lines.js";
import { createReporter } from "../../src/events/reporter.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import {
  broken,
  calls,
  json,
  ownError,
  paymentRecord,
  recordOf,
  type Step,
  scriptedClient,
} from "../http/scripted-transport.js";

interface Line {
  readonly level: string;
  readonly message: unknown;
  readonly fields: unknown;
}

/** A logger like pino, and what was written with it. */
function fakeLogger() {
  const written: Line[] = [];
  const at = (level: string) => (fields: unknown, message: unknown) => void written.push({ level, message, fields });
  return { written, logger: { debug: at("debug"), warn: at("warn"), error: at("error") } satisfies Logger };
}

function logged(steps: readonly Step[], logger: Logger, overrides = {}) {
  return scriptedClient(steps, { reporter: createReporter([logListener(logger)]), ...overrides });
}

const settled = (call: PromiseLike<unknown>) => Promise.allSettled([call]);
const intent = recordOf(paymentIntents.get.record);
const failed = (level: string, code: string, text: string) => ({
  level,
  message: `payments.create: ${code}, ${text}`,
  fields: { "error.type": code },
});

describe("lines", () => {
  it("are one at debug for a call that succeeded, with what OpenTelemetry calls its facts", async () => {
    const { written, logger } = fakeLogger();
    const { client } = logged([json(intent, 200, { "x-request-id": "r-7" })], logger);
    await calls.read(client);
    expect(written).toEqual([
      {
        level: "debug",
        message: "paymentIntents.get: 200",
        fields: {
          "cross_border.operation": "paymentIntents.get",
          "http.request.method": "GET",
          "url.template": "/payment-intents/{paymentIntentId}",
          "http.response.status_code": 200,
          "cross_border.duration_ms": expect.any(Number),
          "cross_border.request_id": "r-7",
        },
      },
    ]);
  });

  it.each<[string, Step, keyof typeof calls, object]>([
    ["a call that did nothing", ownError(400), "signed", failed("debug", "http_400", "nothing was done")],
    ["an unknown outcome", broken, "signed", failed("error", "outcome_unknown", "it may have been done")],
    [
      "what was done although its response can't be used",
      json({ ...paymentRecord(), memo: 5 }),
      "signed",
      failed("warn", "unexpected_response", "it was done, but its response can't be used"),
    ],
  ])("are one of its level for %s", async (_, step, call, expected) => {
    const { written, logger } = fakeLogger();
    await settled(calls[call](logged([step], logger, { validation: "strict" }).client));
    expect(written.at(-1)).toMatchObject(expected);
  });

  it("are one at warn for each retry and each difference, before that of the call", async () => {
    const { written, logger } = fakeLogger();
    const { client } = logged([{ status: 503 }, broken, json({ ...intent, memo: 5 })], logger);
    await calls.read(client);
    const difference = { field: "memo", expected: "a string", found: "a number" };
    const named = Object.entries(difference).map(([name, value]) => [`cross_border.${name}`, value]);
    expect(written).toMatchObject([
      { level: "warn", fields: { "error.type": "503", "http.request.resend_count": 1, "cross_border.delay_ms": 0 } },
      { level: "warn", fields: { "error.type": "ECONNRESET", "http.request.resend_count": 2 } },
      { level: "warn", fields: Object.fromEntries(named) },
      { level: "debug", fields: { "http.response.status_code": 200, "http.request.resend_count": 2 } },
    ]);
  });

  it("do not give the status of a token endpoint for that of the service", async () => {
    const { written, logger } = fakeLogger();
    const { TokenError } = await import("../../src/core/errors.js");
    const refuse = () => Promise.reject(new TokenError("no token", { code: "login_refused", status: 401 }));
    await settled(calls.read(logged([json({})], logger, { tokens: { current: refuse, renew: refuse } }).client));
    expect(written).toMatchObject([{ level: "debug", fields: { "error.type": "login_refused" } }]);
    expect(written[0]?.fields).not.toHaveProperty(["http.response.status_code"]);
  });

  it.each<[Pick<FlowEvent, "from" | "to" | "effect">, string]>([
    [{ from: "claimed", to: "held", effect: "possible" }, "error"],
    [{ from: "claimed", to: "unknown", effect: "possible" }, "error"],
    [{ from: "held", to: "held", effect: "possible" }, "warn"],
    [{ from: "claimed", to: "claimed", effect: "possible" }, "warn"],
    [{ from: undefined, to: "funds-requested" }, "debug"],
    [{ from: "claimed", to: "paid" }, "debug"],
    [{ from: "claimed", to: "refused" }, "debug"],
    [{ from: "refused", to: "rejected" }, "warn"],
  ])("of a step of a flow %j are at %s", (step, level) => {
    const { written, logger } = fakeLogger();
    createReporter([logListener(logger)]).emit("flow", { key: "order-1", durationMs: 3, serviceCode: "no", ...step });
    expect(written).toMatchObject([
      {
        level,
        fields: {
          "cross_border.flow.key": "order-1",
          "cross_border.flow.to": step.to,
          "cross_border.service_code": "no",
        },
      },
    ]);
  });

  it("are one at debug for a token", () => {
    const { written, logger } = fakeLogger();
    createReporter([logListener(logger)]).emit("token", { grant: "password" });
    expect(written).toMatchObject([{ level: "debug", message: "an access token was obtained" }]);
  });

  it("of failing work name the error's code, and nothing that a bank's function threw", () => {
    const { written, logger } = fakeLogger();
    createReporter([logListener(logger)]).emit("error", new Error("account DE11222233334444"));
    expect(written).toMatchObject([{ level: "warn", fields: { "error.type": "_OTHER" } }]);
    expect(inspect(written)).not.toContain("DE11222233334444");
  });
});

/** A stream of text, and what was written to it. */
function sink() {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join("") };
}

describe("loggers", () => {
  it("can be pino, whose lines are JSON, and whose level changes while the client lives", async () => {
    const { stream, text } = sink();
    const logger = pino({ level: "warn" as Level }, stream);
    const { client } = logged([json(intent)], logger);
    await calls.read(client);
    expect(text()).toBe("");
    logger.level = "debug";
    await calls.read(client);
    const line = { level: pino.levels.values.debug, msg: "paymentIntents.get: 200", "http.response.status_code": 200 };
    expect(JSON.parse(text())).toMatchObject(line);
  });

  it("can be the console, which begins a line with its message", async () => {
    const { stream, text } = sink();
    const console = new Console({ stdout: stream, stderr: stream });
    await calls.read(logged([json(intent)], console).client);
    expect(text()).toMatch(/^paymentIntents\.get: 200 \{/);
    expect(text()).toContain("'http.request.method': 'GET'");
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("disk full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("disk full"))],
    ["has gone", undefined],
  ])("do no call harm when one of them %s", async (_, method) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { logger } = fakeLogger();
    const { client } = logged([{ status: 503 }, json({ ...intent, memo: 5 })], logger);
    Object.assign(logger, { debug: method, warn: method, error: method });
    expect(await calls.read(client)).toEqual({ ...intent, memo: 5 });
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("have debug, warn and error", () => {
    const { logger } = fakeLogger();
    expect([logger, console, pino()].map(isLogger)).toEqual([true, true, true]);
    const others = [undefined, null, "pino", {}, () => {}, { ...logger, warn: undefined }];
    expect(others.map(isLogger)).toEqual(others.map(() => false));
    const auth = { accessToken: () => "t" };
    const build = () => new CrossBorderClient({ baseUrl: "https://service.test", auth, logger: {} as Logger });
    expect(build).toThrow("logger must be a logger: an object with the methods debug, warn and error");
  });
});
