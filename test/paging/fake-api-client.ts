import type { ApiClient } from "../../src/api/api-client.js";

/** An API client with the methods that a test gives it; any other fails. */
export function fakeApiClient(parts: Partial<ApiClient>): ApiClient {
  const get = (target: object, name: string | symbol): unknown =>
    Reflect.get(target, name) ??
    (() => {
      throw new Error(`${String(name)} was not expected to be called`);
    });
  return new Proxy(parts, { get }) as ApiClient;
}
