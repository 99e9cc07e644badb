export interface Address {
  readonly origin: string;
  readonly basePath: string;
}

/** The base URL under which every process reaches the service at first. */
export const firstAddress: Address = { origin: "https://service.test", basePath: "" };

/** The base URL under which the service is reached after the change. */
export const nextAddress: Address = { origin: "https://next.service.test", basePath: "/v1" };

/** Writes the base URL as flows are stored under it. */
export function baseUrlOf({ origin, basePath }: Address): string {
  return origin + basePath;
}
