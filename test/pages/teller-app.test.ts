import { createServer } from "node:http";
import { MemoryTokenStore, ServerLogin } from "cross-border-payments";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { tellerApp } from "../../examples/login/teller-app.js";
import { isActive, isKeycloakRunning, keycloakOrigin } from "../keycloak/keycloak.js";
import type { Page } from "../support/chromium.js";
import { installTools } from "../support/install-tools.js";
import { originOf } from "../support/origin-of.js";
import { eventsOf, fillForm, lifetimeSeconds, type Office, openOffice } from "./office.js";

/** In Chromium: the example with Fastify and sessions, before a real Keycloak that rotates refresh tokens and ends reused sessions. */
describe.runIf(isKeycloakRunning)("the teller's server", () => {
  let office: Office;
  const server = createServer((request, response) => app.routing(request, response));
  let app: FastifyInstance;
  let origin: string;

  beforeAll(async () => {
    origin = await originOf(server);
    office = await openOffice(installTools("test/matrix", "matrix"), `${origin}/callback`, { publicClient: false });
    office.service.isGood = (token) => isActive(office.realm, token);
  });

  afterAll(async () => {
    server.close();
    await office?.[Symbol.asyncDispose]();
  });

  /** The server, and somebody who opens its list of payments. */
  async function open(): Promise<Page> {
    const { clientId, clientSecret } = office.realm.credentials;
    const login = new ServerLogin({
      ...{ authUrl: keycloakOrigin, realm: office.realm.name, clientId, clientSecret },
      ...{ redirectUri: `${origin}/callback`, tokenStore: new MemoryTokenStore() },
    });
    app = tellerApp(login, office.service.baseUrl);
    await app.ready();
    const profile = await office.browser.newProfile();
    onTestFinished(async () => {
      await profile.close();
      server.closeAllConnections();
      await app.close();
      await login.close();
    });
    const page = await profile.newPage();
    await page.goto(`${origin}/payments`);
    return page;
  }

  const isAt = (page: Page, path: string) => page.waitForFunction(`location.pathname === '${path}'`);
  const shown = async (page: Page) => JSON.parse((await page.locator("body").textContent()) ?? "");
  const payments = () => ({
    user: office.realm.userId,
    payments: [{ id: expect.any(String), receiverAmount: "15.00" }],
  });

  it("logs a user in, lists payments, renews its tokens, and logs out", async () => {
    const page = await open();
    await fillForm(page, office.realm.credentials);
    await isAt(page, "/payments");
    expect(await shown(page)).toEqual(payments());
    expect(await page.evaluate("document.cookie")).toBe("");
    const endMs = performance.now() + lifetimeSeconds * 1200;
    while (performance.now() < endMs) {
      await page.goto(`${origin}/payments`);
      expect(await shown(page)).toEqual(payments());
    }
    const { REFRESH_TOKEN: renewals = 0, ...rest } = await eventsOf(office.realm);
    expect(renewals).toBeGreaterThanOrEqual(1);
    expect(renewals).toBeLessThanOrEqual(2);
    expect(rest).toEqual({ LOGIN: 1, CODE_TO_TOKEN: 1 });

    await page.evaluate("fetch('/logout', { method: 'POST' }).then(() => {})");
    expect(await office.realm.sessions()).toBe(0);
    await page.goto(`${origin}/payments`);
    await fillForm(page, office.realm.credentials);
    await isAt(page, "/payments");
  });
});
