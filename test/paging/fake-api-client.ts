import type { ApiClient } from "../../src/api/api-client.js";

/** A caller that does what a test gives it; whatever else is asked of it fails. */
export function fakeApiClient(parts: Partial<ApiClient>): ApiClient {
  const get = (target: object, name: string | symbol): unknown =>
    Reflect.get(target, name) ??
    (() => {
      throw new Error(`${String(name)} was not expected to be called`);
    });
  return new Proxy(parts, { get }) as ApiClient;
}
