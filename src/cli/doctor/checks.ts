import { readFile } from "node:fs/promises";
import type { CrossBorderClient } from "../../client.js";
import { clock } from "../../core/clock.js";
import { ApiError, TokenError } from "../../core/errors.js";
import { type Connection, readConnection } from "../../settings/connection.js";
import { parsePublicKey, parseSigningKey } from "../../signing/keys.js";
import { sha256Hex } from "../../verification/explain-signature.js";
import { openClient, type Settings, withPassphrase } from "../settings.js";
import type { Terminal } from "../terminal.js";
import { type Check, failed, ok, type Result, skipped } from "./findings.js";
import { checkConnection, checkName } from "./network.js";

/** Every check, after those that it needs. What they send: a login and its logout, and requests of a list. */
export function checksOf(settings: Settings, terminal: Terminal): readonly Check[] & AsyncDisposable {
  const { baseUrl, authUrl, realm, username, gatewayId, signingKey } = settings;
  let client: CrossBorderClient;
  let connection: Connection;
  let spki: Uint8Array;
  /** The service's first response. */
  let response: { readonly headers: Readonly<Record<string, string>> } | undefined;
  let refusal: unknown;
  const places = Object.entries({ service: baseUrl, "identity provider": authUrl }).filter(
    ([name, url]) => name === "service" || originOf(url) !== originOf(baseUrl),
  );
  const checks: Check[] = [
    {
      // Before anything is shown, since it may ask for a passphrase.
      name: "signing key",
      async run() {
        if (signingKey === undefined) return skipped("there is no signingKey");
        try {
          const key = await withPassphrase(await readFile(signingKey, "utf8"), signingKey, terminal);
          spki = parseSigningKey(key).spki();
        } catch (error) {
          return failed(error, "generate one with cross-border keys generate, or name another file");
        }
        return ok(`${signingKey} has a private RSA key, fingerprint ${sha256Hex(spki)}`);
      },
    },
    {
      name: "configuration",
      async run() {
        client = await openClient(settings, terminal, { maxRetries: 0 });
        connection = await readConnection(settings, terminal.env);
        return ok(`${baseUrl}, realm ${realm} at ${authUrl}`);
      },
    },
    {
      name: "proxy",
      needs: ["configuration"],
      async run() {
        const found = [baseUrl, authUrl].flatMap((text) => {
          const [url, proxy] = [new URL(text), connection.proxyFor(new URL(text))];
          return proxy === undefined ? [] : [`${url.host} through ${proxy.protocol}//${proxy.host}`];
        });
        return ok(found.join(", ") || "none");
      },
    },
    ...places.flatMap(([name, url]): Check[] => [
      { name: `${name} DNS`, needs: ["configuration"], run: () => checkName(new URL(url), connection) },
      { name: `${name} connection`, needs: [`${name} DNS`], run: () => checkConnection(new URL(url), connection) },
    ]),
    {
      name: "login",
      needs: places.map(([name]) => `${name} connection`),
      async run() {
        try {
          ({ response } = await client.paymentGateways.list({ size: 1 }).withResponse());
        } catch (error) {
          if (error instanceof TokenError) throw error;
          refusal = error;
          if (error instanceof ApiError) response = error.response;
        }
        return ok(`${username} can log in to the realm ${realm}`);
      },
    },
    {
      name: "read access",
      needs: ["login"],
      run: async () => (refusal === undefined ? ok("payment gateways can be listed") : failed(refusal)),
    },
    {
      name: "clock",
      needs: ["login"],
      run: async () => (response === undefined ? skipped("there is no response") : checkClock(response.headers.date)),
    },
    {
      name: "registered key",
      needs: ["signing key", "read access"],
      run: async () =>
        gatewayId === undefined ? skipped("there is no gatewayId") : checkRegistered(client, gatewayId, spki),
    },
  ];
  return Object.assign(checks, { [Symbol.asyncDispose]: async () => client?.close() });
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
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

async function checkRegistered(client: CrossBorderClient, gatewayId: string, spki: Uint8Array): Promise<Result> {
  const register = "register the public half: cross-border keys show prints rsaPublicKeyBase64";
  const listed: string[] = [];
  for await (const { institutionId, rsaPublicKeyBase64 } of client.paymentGateways.list()) {
    if (listed.length < 5) listed.push(institutionId);
    if (institutionId !== gatewayId) continue;
    const registered = parsePublicKey(rsaPublicKeyBase64).spki();
    if (Buffer.from(registered).equals(spki)) return ok(`the public half is registered for ${gatewayId}`);
    const other = `another key is registered for ${gatewayId}, fingerprint ${sha256Hex(registered)}`;
    return failed(other, `${register}; or use the private key that belongs to it`);
  }
  const remedy = "check gatewayId (the institutionId), and whether the user may see it";
  return failed(`no gateway ${gatewayId} is listed. Listed: ${listed.join(", ") || "none"}`, remedy);
}
