/**
 * How a gateway's back end builds its one client: from the environment, with hooks for its log, and closed at the end.
 * As it is, it talks to a sandbox; with `CROSS_BORDER_BASE_URL` and its like set, it talks to the service.
 */
import { CrossBorderClient } from "cross-border-payments";
import { readSettings } from "cross-border-payments/settings";
import { startPracticeService } from "./support/practice-service.js";

await using practice = process.env.CROSS_BORDER_BASE_URL === undefined ? await startPracticeService() : undefined;
const options = practice?.options ?? (await readSettings());

const log = (event: string, facts: object) => console.log(JSON.stringify({ event, ...facts }));

// A wrong option throws here, at start-up, and not in the middle of the first payment.
await using client = new CrossBorderClient({
  ...options,
  timeoutMs: 10_000,
  on: {
    token: (event) => log("token", event),
    retry: (event) => log("retry", event),
    mismatch: (event) => log("mismatch", event),
  },
});

const { items } = await client.paymentGateways.list({ size: 5 });
log("ready", { gateways: items.map(({ institutionId }) => institutionId) });
