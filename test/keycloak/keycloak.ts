import { randomBytes, randomUUID } from "node:crypto";
import { signingKeysOf } from "../support/key-pairs.js";

/** The Keycloak that `test/support/keycloak.sh with …` started; without one the tests are skipped. */
export const isKeycloakRunning = process.env.CBP_KEYCLOAK_URL !== undefined;

const origin = process.env.CBP_KEYCLOAK_URL ?? "http://127.0.0.1:0";

/** Parts of Keycloak's representation of a realm, a client and a user. */
export interface RealmOptions {
  readonly realm?: Readonly<Record<string, unknown>>;
  readonly client?: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
  /** A realm that gets one more client and user. Making a realm takes Keycloak seconds. Default: a new one. */
  readonly within?: { readonly name: string } | undefined;
}

export type Realm = Awaited<ReturnType<typeof createRealm>>;

/** The service's own client, for asking whether a token is good. */
const serviceClientId = "service";
const serviceSecret = randomBytes(16).toString("hex");

/** One realm with one client and one user, for one test. */
export async function createRealm({ realm, client, user, within }: RealmOptions = {}) {
  const name = within?.name ?? `realm-${randomUUID()}`;
  // Made at run time, so that a test can tell whether one of them is shown.
  const credentials = {
    clientId: `client-${randomUUID()}`,
    clientSecret: `secret-${randomUUID()}`,
    username: `user-${randomUUID()}`,
    password: `password-${randomUUID()}`,
  };
  const { clientId, clientSecret: secret, username, password } = credentials;
  const gateway = {
    clientId,
    secret,
    publicClient: false,
    standardFlowEnabled: false,
    directAccessGrantsEnabled: true,
    protocolMappers: [audienceOfService],
    ...client,
  };
  const service = { clientId: serviceClientId, secret: serviceSecret, publicClient: false, standardFlowEnabled: false };
  const person = {
    username,
    enabled: true,
    email: `${username}@bank.test`,
    emailVerified: true,
    firstName: "Ada",
    lastName: "Bank",
    credentials: [{ type: "password", value: password, temporary: false }],
    ...user,
  };
  /** A request to the administration of this realm; the path begins after the realm. */
  const admin = (method: string, path: string, body?: unknown) => administer(method, `/${name}${path}`, body);
  if (within !== undefined) await Promise.all([admin("POST", "/clients", gateway), admin("POST", "/users", person)]);
  else
    await administer("POST", "", {
      realm: name,
      enabled: true,
      // Hashing as slow as Keycloak's own would be most of what these tests do.
      passwordPolicy: "hashAlgorithm(pbkdf2-sha256) and hashIterations(1)",
      clients: [gateway, service],
      users: [person],
      components: { "org.keycloak.keys.KeyProvider": keysOfRealm() },
      ...realm,
    });
  const [foundClient] = (await admin("GET", `/clients?clientId=${clientId}`)) as readonly { readonly id: string }[];
  const [foundUser] = (await admin("GET", `/users?username=${username}`)) as readonly { readonly id: string }[];
  const clientUuid = foundClient?.id ?? "";
  return {
    name,
    credentials,
    userId: foundUser?.id ?? "",
    admin,
    /** The client's sessions at present. */
    async sessions() {
      return ((await admin("GET", `/clients/${clientUuid}/user-sessions`)) as readonly unknown[]).length;
    },
    async [Symbol.asyncDispose]() {
      if (within === undefined) await admin("DELETE", "");
    },
  };
}

/** Keys of a realm, with an RSA key that is made here: Keycloak takes seconds to make one, most of what a realm takes. */
function keysOfRealm(): readonly object[] {
  const priority = ["100"];
  return [
    { name: "rsa", providerId: "rsa", config: { priority, privateKey: [signingKeysOf("gateway").privateKey] } },
    { name: "hmac", providerId: "hmac-generated", config: { priority, algorithm: ["HS512"] } },
    { name: "aes", providerId: "aes-generated", config: { priority } },
  ];
}

/** Puts the service into the audience of a client's tokens. */
const audienceOfService = {
  name: "audience",
  protocol: "openid-connect",
  protocolMapper: "oidc-audience-mapper",
  config: { "included.client.audience": serviceClientId, "access.token.claim": "true" },
};

/** Whether Keycloak calls a token good now: not expired, not revoked, signed by a key of the realm, meant for the service. */
export async function isActive(realm: Realm, token: string): Promise<boolean> {
  const response = await fetch(`${tokenUrl(realm.name)}/introspect`, {
    method: "POST",
    body: new URLSearchParams({ token, client_id: serviceClientId, client_secret: serviceSecret }),
  });
  return ((await response.json()) as { readonly active?: boolean }).active === true;
}

/** A login that does not go through the library. */
export async function logIn(
  realm: Realm,
  more: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const { clientId, clientSecret, username, password } = realm.credentials;
  const form = {
    grant_type: "password",
    client_id: clientId,
    client_secret: clientSecret,
    username,
    password,
    ...more,
  };
  const response = await fetch(tokenUrl(realm.name), { method: "POST", body: new URLSearchParams(form) });
  return (await response.json()) as Record<string, unknown>;
}

export const keycloakOrigin = origin;

function tokenUrl(realm: string): string {
  return `${origin}/auth/realms/${realm}/protocol/openid-connect/token`;
}

let adminToken: { readonly value: string; readonly untilMs: number } | undefined;

async function administer(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${origin}/auth/admin/realms${path}`, {
    method,
    headers: { authorization: `Bearer ${await administratorsToken()}`, "content-type": "application/json" },
    ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} got ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

async function administratorsToken(): Promise<string> {
  if (adminToken !== undefined && Date.now() < adminToken.untilMs) return adminToken.value;
  const password = process.env.CBP_KEYCLOAK_ADMIN_PASSWORD ?? "";
  const form = { grant_type: "password", client_id: "admin-cli", username: "admin", password };
  const response = await fetch(tokenUrl("master"), { method: "POST", body: new URLSearchParams(form) });
  const { access_token, expires_in } = (await response.json()) as { access_token: string; expires_in: number };
  adminToken = { value: access_token, untilMs: Date.now() + (expires_in - 20) * 1000 };
  return access_token;
}
