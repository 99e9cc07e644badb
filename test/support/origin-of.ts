import type { AddressInfo, Server } from "node:net";
import { onTestFinished } from "vitest";

/** Where the server listens from now on, on a port of its own. */
export async function originOf(server: Server, scheme: "http" | "https" = "http"): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The same, until the test is over. */
export async function originInTest(server: Server, scheme?: "http" | "https"): Promise<string> {
  onTestFinished(() => void server.close());
  return originOf(server, scheme);
}
