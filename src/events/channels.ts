import { openChannel } from "#platform";
import type { Channels } from "./reporter.js";

/** The names of the diagnostics channels, by event. */
export const channelNames = {
  response: "cross-border-payments:response",
  success: "cross-border-payments:success",
  failure: "cross-border-payments:failure",
  retry: "cross-border-payments:retry",
  mismatch: "cross-border-payments:mismatch",
  token: "cross-border-payments:token",
  flow: "cross-border-payments:flow",
} as const;

/** The channels of this process, where the platform has such. */
export function openChannels(): Channels {
  if (openChannel === undefined) return {};
  const open = openChannel;
  return Object.fromEntries(Object.entries(channelNames).map(([event, name]) => [event, open(name)]));
}
