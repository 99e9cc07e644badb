import type { ApiClient } from "../../src/api/api-client.js";
import { createReporter } from "../../src/events/reporter.js";

const silent = createReporter([]);

/** An API client with the methods that a test gives it; any other fails. */
export function fakeApiClient(parts: Partial<ApiClient>): ApiClient {
  const get = (target: object, name: string | symbol): unknown =>
    Reflect.get(target, name) ??
    (name === "reporter" ? silent : undefined) ??
    (() => {
      throw new Error(`${String(name)} was not expected to be called`);
    });
  return new Proxy(parts, { get }) as ApiClient;
}
