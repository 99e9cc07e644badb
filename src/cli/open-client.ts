import { readFile } from "node:fs/promises";
import { CrossBorderClient } from "../client.js";
import type { ClientEvents } from "../events/client-events.js";
import type { Settings } from "./settings.js";

/** A client that logs out when it is closed. */
export async function openClient(settings: Settings, on?: ClientEvents): Promise<CrossBorderClient> {
  const { baseUrl, authUrl, realm, clientId, clientSecret, username, password, ca } = settings;
  const auth = { authUrl, realm, clientId, clientSecret, username, password, endSessionOnClose: true };
  const tls = ca === undefined ? undefined : { ca: await readFile(ca) };
  return new CrossBorderClient({ baseUrl, auth, ...(tls && { tls }), ...(on && { on }) });
}
