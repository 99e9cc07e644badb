import type { Span, Tracer } from "@opentelemetry/api";
import { CrossBorderError } from "../core/errors.js";
import { type Attributes, type Followed, type Tracing, traceHeaders } from "../events/reporter.js";

/** `@opentelemetry/api`, which the caller brings. */
export type Api = typeof import("@opentelemetry/api");

/**
 * Follows work by spans. Whatever a tracer, a context manager or a propagator throws, returns or repeats costs the span, never the work,
 * which is done once.
 */
export function spanTracing(api: Api, tracer: Tracer): Tracing {
  const { context, trace, SpanKind } = api;
  return {
    follow({ name, kind, attributes }, work) {
      const span = attempt(() =>
        tracer.startSpan(name, {
          kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
          attributes: { ...attributes },
        }),
      );
      if (span === undefined || leadsNowhere(api, span)) return work(unfollowed);
      const begin = once(async () => {
        try {
          return await work(new FollowedBySpan(api, span));
        } catch (error) {
          noteError(api, span, error);
          throw error;
        } finally {
          attempt(() => span.end());
        }
      });
      attempt(() => context.with(trace.setSpan(context.active(), span), begin));
      return begin();
    },
  };
}

const unfollowed: Followed = { isSeen: false, headers: {}, note: () => {} };

/** Whether nobody records it and no request can name it, as where there is no SDK. */
function leadsNowhere(api: Api, span: Span): boolean {
  return attempt(() => !span.isRecording() && !api.isSpanContextValid(span.spanContext())) === true;
}

class FollowedBySpan implements Followed {
  readonly isSeen = true;
  readonly #api: Api;
  readonly #span: Span;

  constructor(api: Api, span: Span) {
    this.#api = api;
    this.#span = span;
  }

  get headers(): Readonly<Record<string, string>> {
    const injected: Record<string, unknown> = {};
    attempt(() => this.#api.propagation.inject(this.#api.context.active(), injected));
    return attempt(() => traceHeaders(injected)) ?? {};
  }

  readonly note = (attributes: Attributes): void => note(this.#api, this.#span, attributes);
}

function note({ SpanStatusCode }: Api, span: Span, attributes: Attributes): void {
  attempt(() => span.setAttributes({ ...attributes }));
  if (attributes["error.type"] !== undefined) attempt(() => span.setStatus({ code: SpanStatusCode.ERROR }));
}

/** Its code and its effect. Messages and stacks are for the log. */
function noteError(api: Api, span: Span, error: unknown): void {
  const isOwn = error instanceof CrossBorderError;
  note(
    api,
    span,
    isOwn ? { "error.type": error.code, "cross_border.effect": error.effect } : { "error.type": "_OTHER" },
  );
}

function once<T>(work: () => T): () => T {
  let done: { readonly result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}

function attempt<T>(work: () => T): T | undefined {
  try {
    const result: T = work();
    // A rejection that nobody waits for would end the process.
    if (typeof result === "object" && result !== null) Promise.resolve(result).catch(() => {});
    return result;
  } catch {
    return undefined;
  }
}
