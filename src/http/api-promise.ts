import type { ApiPromise, ResponseInfo } from "../api/request-options.js";

/** Where a running call leaves what it learns of its response. */
export interface ResponseSlot {
  response?: ResponseInfo;
}

/** One promise, not two: whichever way the caller takes it, a failure is reported once and never unhandled beside it. */
export function toApiPromise<T>(data: Promise<T>, slot: ResponseSlot): ApiPromise<T> {
  return Object.assign(data, {
    withResponse: () => data.then((value) => ({ data: value, response: slot.response ?? { status: 0, headers: {} } })),
  });
}
