import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { isActive, isKeycloakRunning, keycloakOrigin } from "../keycloak/keycloak.js";
import { serveFolder } from "../look/serve-folder.js";
import type { Page, Profile } from "../support/chromium.js";
import { until } from "../support/eventually.js";
import { installTools } from "../support/install-tools.js";
import { eventsOf, fillForm, lifetimeSeconds, type Office, openOffice } from "./office.js";
import { careful, quote } from "./teller-service.js";

const { CBP_PAGES_SECONDS = "20" } = process.env;

/** In Chromium: the example page, built by vite, before a real Keycloak that rotates refresh tokens and ends reused sessions. */
describe.runIf(isKeycloakRunning)("the teller's page", () => {
  let folder: string;
  let pages: Awaited<ReturnType<typeof serveFolder>>;
  let settings: object;
  let office: Office;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "cbp-page-"));
    // As a user would, except that the package is this one.
    const tools = installTools("test/matrix", "matrix");
    const flags = ["build", "examples/teller-page", "--outDir", folder, "--emptyOutDir", "--logLevel", "error"];
    await promisify(execFile)(join(tools, "node_modules/.bin/vite"), flags);
    pages = await serveFolder(folder, careful, () => settings);
    office = await openOffice(tools, `${pages.url}/`, { publicClient: true });
    office.service.isGood = (token) => isActive(office.realm, token);
  });

  afterAll(async () => {
    await office?.[Symbol.asyncDispose]();
    await pages?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** One person at one computer. */
  async function sitDown(): Promise<Profile> {
    const { realm, service, browser } = office;
    const { clientId } = realm.credentials;
    const { baseUrl } = service;
    settings = { authUrl: keycloakOrigin, realm: realm.name, clientId, baseUrl, quote, refreshMs: 500 };
    const profile = await browser.newProfile();
    onTestFinished(() => profile.close());
    return profile;
  }

  async function openPage(profile: Profile): Promise<Page> {
    const page = await profile.newPage();
    page.on("pageerror", (error) => expect.soft(error, "an error of the page").toBeUndefined());
    await page.goto(pages.url);
    return page;
  }

  /** Counts the tokens that a page requests from now on. */
  function countTokenRequests(page: Page): () => number {
    let count = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("/token")) count++;
    });
    return () => count;
  }

  const isIn = (page: Page) => page.waitForSelector("body.in");
  const isOut = (page: Page) => page.waitForSelector("body:not(.in) #log-in");
  const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? "";

  async function problemOf(page: Page): Promise<string> {
    await page.waitForSelector("#problem:not(:empty)");
    return (await textOf(page, "#problem")).split(":", 1)[0] ?? "";
  }

  /** The button of the page, and the form where Keycloak shows it. */
  async function logInAnew(page: Page, isRemembered: boolean): Promise<void> {
    await page.click("#log-in");
    if (!isRemembered) await fillForm(page, office.realm.credentials);
    await isIn(page);
    expect(await textOf(page, "#problem")).toBe("");
  }

  it("logs a user in, shows prices and payments, renews in two tabs, and logs out", async () => {
    const profile = await sitDown();
    const page = await openPage(profile);
    await fillForm(page, office.realm.credentials);
    await isIn(page);
    expect(page.url()).toBe(`${pages.url}/`);
    expect(await page.evaluate("JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])")).toBe(
      '[{},{},""]',
    );
    expect(await textOf(page, "#user")).toBe("Ada Bank");

    await page.fill("[name=receiverAccount]", "KE-7002");
    await page.fill("[name=receiverAmount]", "150.00");
    await page.click("#quote button");
    await page.waitForSelector("#price dd");
    expect(await page.evaluate("[...document.querySelectorAll('#price dd')].map((one) => one.textContent)")).toEqual([
      ...["Ada Sender", "Baraka Receiver", "150.00 EUR", "150.28 EUR", "0.28"],
      // 150.28 / 150, and 150.28 / 150.28.
      ...["1.001867", "1.000000"],
    ]);
    expect(await page.locator("#payments tr").count()).toBe(1);

    // Keycloak remembers the user: no form.
    await page.reload();
    await isIn(page);
    const other = await openPage(profile);
    await isIn(other);

    const before = await eventsOf(office.realm);
    const ofPage = countTokenRequests(page);
    const ofOther = countTokenRequests(other);
    const startMs = performance.now();
    const seconds = Number(CBP_PAGES_SECONDS);
    while (performance.now() - startMs < seconds * 1000) {
      for (const tab of [page, other]) {
        expect(await textOf(tab, "#problem")).toBe("");
        expect(await textOf(tab, "#refreshed")).toMatch(/^as of /);
      }
      await sleep(500);
    }
    const { REFRESH_TOKEN: renewals = 0, ...after } = await eventsOf(office.realm);
    const { REFRESH_TOKEN: earlier = 0, ...rest } = before;
    expect(after).toEqual(rest);
    expect(after).not.toHaveProperty("REFRESH_TOKEN_ERROR");
    // Each tab renews its own tokens, once a lifetime.
    expect(renewals - earlier).toBeGreaterThanOrEqual(2 * Math.floor(seconds / lifetimeSeconds));
    const most = (performance.now() - startMs) / 1000 / (lifetimeSeconds * 0.9);
    expect(renewals - earlier).toBeLessThanOrEqual(2 * Math.ceil(most));

    // Keycloak keeps a session that another tab renews at the same time, so the other tab renews first.
    const sent = ofOther();
    const issued = async () => (await eventsOf(office.realm)).REFRESH_TOKEN ?? 0;
    await until(async () => ofOther() > sent && (await issued()) - earlier >= ofPage() + ofOther());
    await page.click("#log-out");
    await isOut(page);
    expect(await textOf(page, "#problem")).toBe("");
    expect(await problemOf(other)).toBe("session_ended");
    await isOut(other);
    expect(await office.realm.sessions()).toBe(0);
    await logInAnew(page, false);
  });

  it("asks for a login when an administrator has ended the session", async () => {
    const profile = await sitDown();
    const page = await openPage(profile);
    await fillForm(page, office.realm.credentials);
    await isIn(page);
    await office.realm.admin("POST", `/users/${office.realm.userId}/logout`);
    expect(await problemOf(page)).toBe("session_ended");
    await isOut(page);
    await logInAnew(page, false);
  });

  it("takes no callback that is another login's, or comes again", async () => {
    const profile = await sitDown();
    const page = await openPage(profile);
    let callback = "";
    page.on("request", (request) => {
      if (request.url().startsWith(`${pages.url}/?`)) callback = request.url();
    });
    await fillForm(page, office.realm.credentials);
    await isIn(page);
    for (const address of [callback, `${pages.url}/?state=forged&code=forged`]) {
      await page.goto(address);
      expect(await problemOf(page)).toBe("login_state_mismatch");
      expect(page.url()).toBe(`${pages.url}/`);
      await logInAnew(page, true);
    }
  });
});
