import { createRealm, type Realm, type RealmOptions } from "../keycloak/keycloak.js";
import { type Browser, openBrowser, type Page } from "../support/chromium.js";
import { startTellerService, type TellerService } from "./teller-service.js";

export const lifetimeSeconds = 15;

/** A browser, a service, and a realm with rotating refresh tokens. */
export interface Office extends AsyncDisposable {
  readonly browser: Browser;
  readonly service: TellerService;
  readonly realm: Realm;
}

export async function openOffice(
  tools: string,
  redirectUri: string,
  kind: NonNullable<RealmOptions["client"]>,
): Promise<Office> {
  const client = {
    standardFlowEnabled: true,
    directAccessGrantsEnabled: false,
    redirectUris: [redirectUri],
    webOrigins: [new URL(redirectUri).origin],
    attributes: { "pkce.code.challenge.method": "S256" },
    ...kind,
  };
  const realm = await createRealm({
    realm: {
      revokeRefreshToken: true,
      refreshTokenMaxReuse: 0,
      accessTokenLifespan: lifetimeSeconds,
      eventsEnabled: true,
      enabledEventTypes: ["LOGIN", "LOGIN_ERROR", "CODE_TO_TOKEN", "REFRESH_TOKEN", "REFRESH_TOKEN_ERROR", "LOGOUT"],
    },
    client,
  });
  const [browser, service] = await Promise.all([openBrowser(tools), startTellerService()]);
  return {
    ...{ browser, service, realm },
    async [Symbol.asyncDispose]() {
      for (const part of [browser, service, realm]) await part[Symbol.asyncDispose]();
    },
  };
}

/** Keycloak's form. */
export async function fillForm(page: Page, { username, password }: Realm["credentials"]): Promise<void> {
  await page.fill("#username", username);
  await page.fill("#password", password);
  await page.click("#kc-login");
}

/** What Keycloak did for a client, by its own record. */
export async function eventsOf(realm: Realm): Promise<Readonly<Record<string, number>>> {
  const path = `/events?max=1000&client=${encodeURIComponent(realm.credentials.clientId)}`;
  const events = (await realm.admin("GET", path)) as readonly { readonly type: string }[];
  const counts: Record<string, number> = {};
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}
