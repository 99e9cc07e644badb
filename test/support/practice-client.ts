import { CrossBorderClient } from "cross-border-payments";
import type { SandboxServerOptions } from "cross-border-payments/sandbox";
import { startPracticeService } from "../../examples/support/practice-service.js";

/** What listings that are run start with: two gateways, a rate, a provider, and a client of the sending gateway. */
export async function openPractice(sandbox?: SandboxServerOptions) {
  const practice = await startPracticeService(sandbox);
  const client = new CrossBorderClient(practice.options);
  return {
    ...practice,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await practice[Symbol.asyncDispose]();
    },
  };
}
