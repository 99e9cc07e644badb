/** A base URL of the service. */
export interface Address {
  readonly origin: string;
  readonly basePath: string;
}

/** Under which every process reaches the service at first. */
export const firstAddress: Address = { origin: "https://service.test", basePath: "" };

/** Under which it is reached after its base URL has changed. */
export const nextAddress: Address = { origin: "https://next.service.test", basePath: "/v1" };

/** As flows are stored under it. */
export function baseUrlOf({ origin, basePath }: Address): string {
  return origin + basePath;
}
