import { readFile } from "node:fs/promises";
import { parseAuthOptions, parseAuthUrl } from "../../auth/auth-options.js";
import { type Granted, TokenEndpoint } from "../../auth/token-endpoint.js";
import { describeGrantFailure, type GrantFailure, isRefusal, toTokenError } from "../../auth/token-error.js";
import { CrossBorderClient } from "../../client.js";
import { Deadline } from "../../core/deadline.js";
import { CrossBorderError } from "../../core/errors.js";
import { redactText } from "../../core/redact.js";
import type { PaymentGateway } from "../../resources/payment-gateways.js";
import { type Connection, readConnection } from "../../settings/connection.js";
import { authOf } from "../../settings/settings.js";
import { parsePublicKey, parseSigningKey, type SigningKey } from "../../signing/keys.js";
import { signRequest, verifySignature } from "../../signing/signer.js";
import { sha256Hex } from "../../verification/explain-signature.js";
import { parseBaseUrl } from "../../wire/base-url.js";
import { openTransport } from "../../wire/open-transport.js";
import { parseObject } from "../../wire/response.js";
import { Interrupted } from "../ask-secret.js";
import { program } from "../program.js";
import type { Settings } from "../settings.js";
import { withPassphrase } from "../signing-key.js";
import type { Terminal } from "../terminal.js";
import { readVersion } from "../version.js";
import { codeOf, type Finding, failed, ok, type Result, skipped, warning } from "./finding.js";
import { checkClock, checkConnection, checkName } from "./network-checks.js";

/**
 * Every check, in the order in which one needs the other. What it sends: a HEAD request, a login and its logout, and requests of lists.
 * It moves no money, and never shows a secret.
 */
export async function* examine(settings: Settings, terminal: Terminal): AsyncGenerator<Finding, void> {
  const connection = await readConnection(settings, terminal.env);
  // It may ask for a passphrase, which belongs before everything that it shows.
  const key = settings.signingKey === undefined ? undefined : await readKey(settings.signingKey, terminal);
  const known = { settings, connection, key };
  yield { check: "versions", ...checkVersions() };
  const service = checkAddress(settings.baseUrl, "baseUrl", parseBaseUrl);
  const identity = checkAddress(settings.authUrl, "authUrl", parseAuthUrl);
  yield { check: "proxies", ...checkProxies(connection, service.url, identity.url) };
  yield { check: "address of the service", ...service };
  yield { check: "address of the identity provider", ...identity };
  const isOneHost = service.url !== undefined && service.url.origin === identity.url?.origin;
  let canReach = service.url !== undefined && identity.url !== undefined;
  for (const [who, url] of [
    ["service", service.url],
    ["identity provider", isOneHost ? undefined : identity.url],
  ] as const) {
    if (url === undefined) continue;
    const name = await checkName(url, connection);
    yield { check: `name of the ${who}`, ...name };
    const reached = name.status === "failed" ? skipped("it has no address") : await checkConnection(url, connection);
    yield { check: `connection to the ${who}`, ...reached };
    if (reached.status === "failed" || reached.status === "skipped") canReach = false;
  }
  if (!canReach) {
    yield { check: "login", ...skipped("there is no connection") };
    yield* examineKeys(known, undefined);
    return;
  }
  yield { check: "clock", ...(await checkClock(service.url as URL, connection)) };
  yield* examineService(known);
}

interface Known {
  readonly settings: Settings;
  readonly connection: Connection;
  readonly key: ReadKey | undefined;
}

async function* examineService(known: Known): AsyncGenerator<Finding, void> {
  const { settings, connection } = known;
  const auth = authOf(settings);
  const refusal = refusalOf(auth);
  if (refusal !== undefined) {
    yield {
      check: "login",
      ...failed(refusal, "correct it in the settings; a line break may come from the file of a secret"),
    };
    yield* examineKeys(known, undefined);
    return;
  }
  const transport = openTransport({ connections: 1, connectTimeoutMs: 5000, ...(await connection.clientOptions()) });
  const endpoint = new TokenEndpoint({ auth, transport });
  try {
    const result = await endpoint.login();
    if ("failure" in result) {
      yield { check: "login", ...describeFailure(result.failure, endpoint.url) };
      yield* examineKeys(known, undefined);
      return;
    }
    try {
      yield* examineSession(result.granted, known);
    } finally {
      await endSession(endpoint, result.granted);
    }
  } finally {
    await transport.close();
  }
}

function describeFailure(failure: GrantFailure, url: string): Result {
  const { found, check = "Check authUrl and realm" } = describeGrantFailure(failure, url);
  const remedy = check.charAt(0).toLowerCase() + check.slice(1);
  return failed(isRefusal(failure) ? found : `${found} (${toTokenError(failure, url).code})`, remedy);
}

async function* examineSession(granted: Granted, known: Known): AsyncGenerator<Finding, void> {
  const { settings, connection } = known;
  const { accessToken } = granted;
  yield { check: "login", ...ok(`${settings.username} can log in to the realm ${settings.realm}`) };
  yield { check: "token", ...describeToken(granted) };
  await using client = new CrossBorderClient({
    baseUrl: settings.baseUrl,
    auth: { accessToken: () => accessToken },
    ...(await connection.clientOptions()),
    maxRetries: 0,
  });
  const list = await checkList(client);
  yield { check: "a list of one", ...list };
  yield* examineKeys(known, list.status === "ok" ? client : undefined);
}

/** Ends the session, which was opened for this check alone. */
async function endSession(endpoint: TokenEndpoint, { refreshToken }: Granted): Promise<void> {
  if (refreshToken === undefined) return;
  const deadline = new Deadline({ timeoutMs: 2000 });
  await endpoint.logout(refreshToken, deadline);
  deadline.finish();
}

async function checkList(client: CrossBorderClient): Promise<Result> {
  try {
    const { items } = await client.paymentGateways.list({ size: 1 });
    return ok(`the service lists payment gateways${items.length === 0 ? "; there are none yet" : ""}`);
  } catch (error) {
    return failed(messageOf(error), "check the base path, and whether the user may read the list");
  }
}

function messageOf(error: unknown): string {
  return error instanceof CrossBorderError ? error.message : codeOf(error);
}

/** @param client absent where the service can't be asked. */
async function* examineKeys(
  { settings: { gatewayId }, key }: Known,
  client: CrossBorderClient | undefined,
): AsyncGenerator<Finding, void> {
  if (key === undefined) {
    yield { check: "signing key", ...skipped("there is no signingKey") };
    return;
  }
  yield { check: "signing key", ...key.result };
  if (key.privateKey === undefined || key.spki === undefined) return;
  if (gatewayId === undefined || client === undefined) {
    const why = gatewayId === undefined ? "there is no gatewayId" : "the gateways can't be listed";
    yield { check: "registered key", ...skipped(why) };
    return;
  }
  const { gateway, problem } = await findGateway(client, gatewayId);
  if (gateway === undefined) {
    yield { check: "registered key", ...problem };
    return;
  }
  const registered = checkRegistered(gateway, key.spki);
  yield { check: "registered key", ...registered };
  if (registered.status === "ok") yield { check: "signature", ...(await checkSignature(gateway, key.privateKey)) };
}

interface ReadKey {
  readonly result: Result;
  readonly privateKey?: SigningKey;
  readonly spki?: Uint8Array;
}

async function readKey(file: string, terminal: Terminal): Promise<ReadKey> {
  try {
    const privateKey = await withPassphrase(await readFile(file, "utf8"), file, terminal);
    const spki = parseSigningKey(privateKey).spki();
    return { result: ok(`${file} has a private RSA key, fingerprint ${sha256Hex(spki)}`), privateKey, spki };
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    const remedy = `make one by ${program} keys generate, or name the file of the key whose public half is registered`;
    return { result: failed(redactText((error as Error).message), remedy) };
  }
}

type FoundGateway =
  | { readonly gateway: PaymentGateway; readonly problem?: never }
  | { readonly gateway?: never; readonly problem: Result };

async function findGateway(client: CrossBorderClient, gatewayId: string): Promise<FoundGateway> {
  const listed: string[] = [];
  try {
    for await (const gateway of client.paymentGateways.list()) {
      if (gateway.institutionId === gatewayId) return { gateway };
      listed.push(gateway.institutionId);
    }
    const others = listed.length > mostNamed ? [...listed.slice(0, mostNamed), "others"] : listed;
    const remedy = "check gatewayId (the institutionId), and whether the user may see it";
    return { problem: failed(`no gateway ${gatewayId} is listed, but ${others.join(", ") || "none at all"}`, remedy) };
  } catch (error) {
    const remedy = "check whether the user may read all of the list";
    return { problem: failed(`the gateways can't be listed: ${messageOf(error)}`, remedy) };
  }
}

/** A name may be misspelt; of hundreds nobody wants to read all. */
const mostNamed = 5;

function checkRegistered({ institutionId, rsaPublicKeyBase64 }: PaymentGateway, spki: Uint8Array): Result {
  const remedy = `register the public half: ${program} keys show gives rsaPublicKeyBase64`;
  try {
    const registered = parsePublicKey(rsaPublicKeyBase64).spki();
    if (Buffer.from(registered).equals(spki))
      return ok(`the key that is registered for ${institutionId} is the public half of the signing key`);
    return failed(
      `another key is registered for ${institutionId}, fingerprint ${sha256Hex(registered)}`,
      `${remedy}; or use the private key that belongs to it`,
    );
  } catch (error) {
    return failed(`what is registered for ${institutionId} is no key: ${(error as Error).message}`, remedy);
  }
}

async function checkSignature({ rsaPublicKeyBase64: publicKey }: PaymentGateway, key: SigningKey): Promise<Result> {
  const request = { path: "/payments", body: "{}" };
  const signature = await signRequest({ ...request, key });
  const holds = await verifySignature({ ...request, signature, publicKey });
  return holds
    ? ok("a signature made with the signing key holds with the registered one; nothing was sent")
    : failed(
        "a signature made with the signing key does not hold with the registered one",
        "make a new pair, and register it",
      );
}

/** What a client would say of it. */
function refusalOf(auth: ReturnType<typeof authOf>): string | undefined {
  try {
    parseAuthOptions(auth);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function describeToken({ accessToken, lifetimeMs, refreshToken }: Granted): Result {
  const refresh = refreshToken === undefined ? "no refresh token" : "a refresh token";
  const { aud, iss } = claimsOf(accessToken);
  const audiences = [aud].flat().filter((audience) => typeof audience === "string");
  const audience = audiences.length === 0 ? "" : `, for ${audiences.join(", ")}`;
  const issuer = typeof iss === "string" ? `, issued by ${iss}` : "";
  if (lifetimeMs === undefined)
    return warning(`a token without a lifetime, and ${refresh}`, "it is renewed when the service refuses it");
  const found = `it lasts ${Math.round(lifetimeMs / 1000)} s, with ${refresh}${audience}${issuer}`;
  return lifetimeMs < 30_000
    ? warning(found, "so short a life means many token requests: ask for 60 s or more")
    : ok(found);
}

/** Nothing where the token is none that can be read: to the client it is a text like any other. */
function claimsOf(accessToken: string): { readonly aud?: unknown; readonly iss?: unknown } {
  return parseObject(Buffer.from(accessToken.split(".")[1] ?? "", "base64url").toString("utf8")) ?? {};
}

function checkVersions(): Result {
  const found = `cross-border-payments ${readVersion()}, Node ${process.versions.node}`;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isOld = major < 20 || (major === 20 && minor < 19);
  return isOld ? failed(found, "Node 20.19.0 or newer is needed") : ok(found);
}

function checkProxies({ proxyFor }: Connection, ...addresses: readonly (URL | undefined)[]): Result {
  const ways = addresses.flatMap((url) => {
    if (url === undefined) return [];
    const proxy = proxyFor(url);
    return [`${url.host} ${proxy === undefined ? "directly" : `by ${proxy.protocol}//${proxy.host}`}`];
  });
  const isNone = addresses.every((url) => url === undefined || proxyFor(url) === undefined);
  return ok(isNone ? "none" : ways.join(", "));
}

interface CheckedAddress extends Result {
  readonly url?: URL;
}

function checkAddress(text: string, option: string, parse: typeof parseBaseUrl): CheckedAddress {
  try {
    const { origin, path } = parse(text, option, false);
    return { ...ok(origin + path), url: new URL(origin) };
  } catch (error) {
    return failed((error as Error).message, `correct ${option}`);
  }
}
