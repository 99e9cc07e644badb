import type { Attributes } from "./tracing.js";

/** Where requests go, as OpenTelemetry names it. */
export function serverAttributes(origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "https:" ? 443 : 80) };
}
