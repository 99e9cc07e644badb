import { CrossBorderClient } from "../client.js";
import type { ClientEvents } from "../events/events.js";
import { readConnection } from "../settings/connection.js";
import { authOf } from "../settings/settings.js";
import type { Settings } from "./settings.js";
import type { Terminal } from "./terminal.js";

/** A client that logs out when it is closed. */
export async function openClient(settings: Settings, { env }: Terminal, on?: ClientEvents): Promise<CrossBorderClient> {
  const { baseUrl } = settings;
  const auth = { ...authOf(settings), endSessionOnClose: true };
  const connection = await readConnection(settings, env);
  return new CrossBorderClient({ baseUrl, auth, ...(await connection.clientOptions()), ...(on && { on }) });
}
