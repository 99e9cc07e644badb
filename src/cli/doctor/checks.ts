import { readFile } from "node:fs/promises";
import type { CrossBorderClient } from "../../client.js";
import { clock } from "../../core/clock.js";
import { ApiError, TokenError } from "../../core/errors.js";
import { readConnection } from "../../settings/connection.js";
import { parsePublicKey, parseSigningKey } from "../../signing/keys.js";
import { sha256Hex } from "../../verification/explain-signature.js";
import { openClient, type Settings, withPassphrase } from "../settings.js";
import { Exit, type Terminal } from "../terminal.js";
import { messageOf } from "../text.js";
import { checkConnection, checkName, type Result } from "./network.js";

export interface Finding extends Result {
  readonly check: string;
}

const ok = (found: string): Result => ({ status: "ok", found });
const failed = (found: string, remedy?: string): Result => ({ status: "failed", found, ...(remedy && { remedy }) });
const skipped = (found: string): Result => ({ status: "skipped", found });

/** Every check, each after those that it needs. What it sends: a login and its logout, and requests of a list. */
export async function* examine(settings: Settings, terminal: Terminal): AsyncGenerator<Finding, void> {
  // It may ask for a passphrase, which belongs in front of everything that is shown.
  const key = settings.signingKey === undefined ? undefined : await readKey(settings.signingKey, terminal);
  let client: CrossBorderClient;
  try {
    client = await openClient(settings, terminal, { maxRetries: 0 });
  } catch (error) {
    yield { check: "configuration", ...failed(messageOf(error)) };
    return yield* examineKeys(settings, key, undefined);
  }
  await using _ = client;
  const { baseUrl, authUrl, realm } = settings;
  yield { check: "configuration", ...ok(`${baseUrl}, realm ${realm} at ${authUrl}`) };
  const canReach = yield* examineNetwork(settings, terminal);
  if (!canReach) yield { check: "login", ...skipped("there is no connection") };
  const isRead = canReach && (yield* examineSession(settings, client));
  yield* examineKeys(settings, key, isRead ? client : undefined);
}

async function* examineNetwork(settings: Settings, { env }: Terminal): AsyncGenerator<Finding, boolean> {
  const connection = await readConnection(settings, env);
  const [service, identity] = [new URL(settings.baseUrl), new URL(settings.authUrl)];
  const proxies = [service, identity].flatMap((url) => {
    const proxy = connection.proxyFor(url);
    return proxy === undefined ? [] : [`${url.host} through ${proxy.protocol}//${proxy.host}`];
  });
  yield { check: "proxy", ...ok(proxies.join(", ") || "none") };
  let canReach = true;
  for (const [who, url] of Object.entries({ service, "identity provider": identity })) {
    if (url === identity && identity.origin === service.origin) continue;
    const name = await checkName(url, connection);
    yield { check: `${who} DNS`, ...name };
    const reached = name.status === "failed" ? skipped("there is no address") : await checkConnection(url, connection);
    yield { check: `${who} connection`, ...reached };
    canReach &&= reached.status === "ok" || reached.status === "warning";
  }
  return canReach;
}

/** @returns whether lists can be read. */
async function* examineSession(
  { username, realm }: Settings,
  client: CrossBorderClient,
): AsyncGenerator<Finding, boolean> {
  const loggedIn = { check: "login", ...ok(`${username} can log in to the realm ${realm}`) };
  try {
    const { data, response } = await client.paymentGateways.list({ size: 1 }).withResponse();
    yield loggedIn;
    const none = data.items.length === 0 ? "; there are none yet" : "";
    yield { check: "read access", ...ok(`payment gateways can be listed${none}`) };
    yield { check: "clock", ...checkClock(response.headers.date) };
    return true;
  } catch (error) {
    const isLogin = error instanceof TokenError;
    if (!isLogin) yield loggedIn;
    yield { check: isLogin ? "login" : "read access", ...failed(messageOf(error)) };
    if (error instanceof ApiError) yield { check: "clock", ...checkClock(error.response.headers.date) };
    return false;
  }
}

/** Tokens, certificates, and searches for payments depend on the time. */
function checkClock(date = ""): Result {
  const remedy = "set this machine's clock by NTP";
  const aheadMs = clock.wallMs() - Date.parse(date);
  if (Number.isNaN(aheadMs)) return { status: "warning", found: "the service doesn't send its time", remedy };
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (seconds <= 5) return ok("this machine's clock and the service's agree within 5 s");
  const found = `this machine's clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the service's`;
  return { status: seconds > 60 ? "failed" : "warning", found, remedy };
}

interface ReadKey {
  readonly result: Result;
  /** The public half. */
  readonly spki?: Uint8Array;
}

async function readKey(file: string, terminal: Terminal): Promise<ReadKey> {
  try {
    const spki = parseSigningKey(await withPassphrase(await readFile(file, "utf8"), file, terminal)).spki();
    return { result: ok(`${file} has a private RSA key, fingerprint ${sha256Hex(spki)}`), spki };
  } catch (error) {
    if (error instanceof Exit) throw error;
    return { result: failed(messageOf(error), "generate one with cross-border keys generate, or name another file") };
  }
}

/** @param client absent if the service can't be asked. */
async function* examineKeys(
  { gatewayId }: Settings,
  key: ReadKey | undefined,
  client: CrossBorderClient | undefined,
): AsyncGenerator<Finding, void> {
  yield { check: "signing key", ...(key?.result ?? skipped("there is no signingKey")) };
  if (key?.spki === undefined) return;
  const why = gatewayId === undefined ? "there is no gatewayId" : "the gateways can't be listed";
  const isKnown = gatewayId !== undefined && client !== undefined;
  yield { check: "registered key", ...(isKnown ? await checkRegistered(client, gatewayId, key.spki) : skipped(why)) };
}

async function checkRegistered(client: CrossBorderClient, gatewayId: string, spki: Uint8Array): Promise<Result> {
  const register = "register the public half: cross-border keys show prints rsaPublicKeyBase64";
  const listed: string[] = [];
  try {
    for await (const { institutionId, rsaPublicKeyBase64 } of client.paymentGateways.list()) {
      if (listed.length < 5) listed.push(institutionId);
      if (institutionId !== gatewayId) continue;
      const registered = parsePublicKey(rsaPublicKeyBase64).spki();
      if (Buffer.from(registered).equals(spki)) return ok(`the public half is registered for ${gatewayId}`);
      const other = `another key is registered for ${gatewayId}, fingerprint ${sha256Hex(registered)}`;
      return failed(other, `${register}; or use the private key that belongs to it`);
    }
  } catch (error) {
    return failed(messageOf(error), register);
  }
  const remedy = "check gatewayId (the institutionId), and whether the user may see it";
  return failed(`no gateway ${gatewayId} is listed. Listed: ${listed.join(", ") || "none"}`, remedy);
}
