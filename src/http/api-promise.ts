import type { ApiPromise, ResponseInfo } from "../api/request-options.js";

/**
 * The promise of a call. `told.response` is set by the time that the data arrives. It is one promise, not two: a failure is
 * reported once, and never as unhandled beside the one that the caller handles.
 */
export function toApiPromise<T>(
  data: Promise<T>,
  told: { readonly response?: ResponseInfo | undefined } = {},
): ApiPromise<T> {
  return Object.assign(data, {
    withResponse: () => data.then((value) => ({ data: value, response: told.response ?? { status: 0, headers: {} } })),
  });
}
