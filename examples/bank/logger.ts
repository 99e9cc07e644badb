import { trace } from "@opentelemetry/api";
import { CrossBorderError } from "cross-border-payments";
import type { FastifyReply, FastifyRequest } from "fastify";
import pino, { type Logger } from "pino";

/** JSON lines, without anything that a form, a row or a response has said, and with the id of the trace. */
export function bankLogger(level: string): Logger {
  return pino({
    level,
    serializers: {
      err: describeError,
      // The path alone, which has ids of orders at most: no headers, and no query.
      req: ({ id, method, url }: FastifyRequest) => ({ id, method, path: url.split("?")[0] }),
      res: ({ statusCode }: FastifyReply) => ({ statusCode }),
    },
    mixin() {
      const span = trace.getActiveSpan()?.spanContext();
      return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
    },
  });
}

/** The library's messages hold no secret, body or account. Those of others may quote what they were given: their code and place must do. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const isOurs = error instanceof CrossBorderError;
  const code: unknown = Reflect.get(error, "code");
  return {
    type: error.name,
    ...(typeof code === "string" && { code }),
    ...(isOurs ? { effect: error.effect, message: error.message } : { at: error.stack?.match(/^ {4}at .*$/gm) }),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
