import { createServer } from "node:http";
import { join } from "node:path";
import { CrossBorderClient, generateSigningKeyPair, paymentFromIntent, signRequest } from "cross-border-payments";
import { type SandboxServer, startSandbox } from "cross-border-payments/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Page, Profile } from "../support/chromium.js";
import { freePort } from "../support/free-port.mjs";
import { originInTest } from "../support/origin-of.js";
import { misledBrowser, tabTo, watchedPage } from "./watched-page.js";

const { CBP_CONSOLE_SCREENSHOTS } = process.env;

const intentRequest = {
  ...{ senderGatewayId: "alpha-bank", senderAccount: "DE-0001", senderCurrency: "EUR" },
  ...{ receiverGatewayId: "beta-mobile", receiverAccount: "KE-7002", receiverCurrency: "KES" },
  ...{ receiverAmount: "15000.00", memo: "rent" },
};

/** In Chromium: the console of the built package, before a client over real sockets. */
describe("the sandbox's console", () => {
  const browser = misledBrowser();

  interface Visit {
    readonly server: SandboxServer;
    readonly client: CrossBorderClient;
    readonly alpha: Awaited<ReturnType<typeof generateSigningKeyPair>>;
    readonly profile: Profile;
    readonly page: Page;
    /** Addresses that pages of the profile have asked for. */
    readonly asked: readonly string[];
    newTab(): Promise<Page>;
  }

  /** Two gateways with a rate between them; the console can sign for the first. Somebody has opened the page. */
  async function visit(basePath = "/gateway/v1"): Promise<Visit> {
    const [alpha, beta] = [await generateSigningKeyPair(), await generateSigningKeyPair()];
    const server = await startSandbox({
      port: await freePort(),
      console: { signingKeys: [alpha.privateKey] },
      basePath,
      fee: "25.00",
    });
    const client = new CrossBorderClient({ ...server.clientOptions, signingKey: alpha.privateKey, maxRetries: 0 });
    const alphaBank = { institutionId: "alpha-bank", name: "Alpha <b>Bank</b>", countryCode: "DE", currency: "EUR" };
    await client.paymentGateways.create({ ...alphaBank, rsaPublicKeyBase64: alpha.publicKeyBase64 });
    const betaMobile = { institutionId: "beta-mobile", name: "Beta Mobile", countryCode: "KE", currency: "KES" };
    await client.paymentGateways.create({ ...betaMobile, rsaPublicKeyBase64: beta.publicKeyBase64 });
    const { id } = await client.liquidityProviders.create({ firstName: "Lia", lastName: "Quid" });
    await client.liquidityProviders.exchangeRates(id).create({
      ...{ baseGatewayId: "alpha-bank", counterGatewayId: "beta-mobile", baseCurrency: "EUR", counterCurrency: "KES" },
      ...{ buyPrice: "140.10", sellPrice: "138.40" },
    });
    server.sandbox.accounts.add({ gatewayId: "alpha-bank", account: "DE-0001", name: "Ada Sender" });
    server.sandbox.accounts.add({ gatewayId: "beta-mobile", account: "KE-7002", name: "Baraka Receiver" });
    const profile = await browser.newProfile();
    onTestFinished(async () => {
      await profile.close();
      await client.close();
      await server.close();
    });
    const asked: string[] = [];
    const newTab = async () => {
      const page = await watchedPage(profile, asked);
      await page.goto(server.consoleUrl ?? "");
      await until(page, "document.querySelector('#connection').textContent === 'live'");
      return page;
    };
    return { server, client, alpha, profile, page: await newTab(), asked, newTab };
  }

  const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? "";
  // The page's own policy allows nobody to evaluate a text in it: playwright's `waitForFunction` would.
  const until = (page: Page, condition: string) =>
    expect.poll(() => page.evaluate<boolean>(condition), { message: condition }).toBe(true);
  const shows = (page: Page, selector: string, text: string) =>
    until(
      page,
      `[...document.querySelectorAll(${JSON.stringify(selector)})].some((one) => one.textContent.includes(${JSON.stringify(text)}))`,
    );

  it("makes a payment by keyboard alone, and asks nobody else for anything", async () => {
    const { page, server, asked } = await visit();
    await tabTo(page, "[name=receiverAmount]");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("15000.00");
    await tabTo(page, "#intent-form [type=submit]");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#payment-form:not([hidden])");
    // What reads the page aloud goes on where the new step begins.
    expect(await page.evaluate("document.activeElement.id")).toBe("intent-title");
    const intent = await page.evaluate<string[]>(
      "[...document.querySelectorAll('#intent dd')].map((one) => one.textContent)",
    );
    // (15000 + 25) / 138.40, rounded up; 108.57 / 15000 and 108.57 / 15025.
    expect(intent.slice(0, 7)).toEqual([
      ...["108.57 EUR", "Ada Sender, DE-0001 at alpha-bank", "15000.00 KES", "Baraka Receiver, KE-7002 at beta-mobile"],
      ...["25.00 KES", "0.007238 EUR for 1 KES", "0.007226 EUR for 1 KES"],
    ]);
    expect(server.sandbox.payments).toEqual([]);
    await tabTo(page, "[name=transactionId]");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("TX-1");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#result:not([hidden])");
    expect(await textOf(page, "#result-title")).toBe("The payment is made");
    const [payment] = server.sandbox.payments;
    expect(await textOf(page, "#result-text")).toContain(payment?.id);
    expect(payment).toMatchObject({
      senderAmount: "108.57",
      senderGatewayTransactionId: "TX-1",
      memo: "from the console",
    });
    await shows(page, "#request-list li", "signature of alpha-bank is right");

    await tabTo(page, "#payments select");
    await page.keyboard.type("processed");
    await tabTo(page, "#payments button");
    await page.keyboard.press("Enter");
    await shows(page, "#payments .badge", "receiver: processed");
    expect(server.sandbox.payments[0]).toMatchObject({ receiverGatewayStatus: "processed" });
    // The list was shown anew, and its button has kept the focus.
    expect(await page.evaluate("document.activeElement.name")).toBe("set");

    const { origin } = new URL(server.url);
    expect(asked.filter((address) => !address.startsWith(`${origin}/console/`) && address !== "data:,")).toEqual([]);
    expect(asked).toContain(`${origin}/console/console.css`);
    expect(
      await page.evaluate(
        "[...document.querySelectorAll('*')].filter((one) => one.localName === 'b' && one.closest('h3, dd, option')).length",
      ),
    ).toBe(0);
    await shows(page, "#gateways dd", "Alpha <b>Bank</b>");
  });

  it("leads through every control and out again, and names each", async () => {
    const { page } = await visit();
    const stops: string[] = [];
    for (let presses = 0; presses < 100; presses += 1) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate<string>(
        "document.activeElement === document.body ? '' : document.activeElement.outerHTML.slice(0, 200)",
      );
      if (stop === "" || stop === stops[0]) break;
      stops.push(stop);
    }
    const controls = "a[href], button, input, select, [tabindex='0']";
    const visible = await page.evaluate<number>(
      `[...document.querySelectorAll(${JSON.stringify(controls)})].filter((one) => one.checkVisibility()).length`,
    );
    expect(stops).toHaveLength(visible);
    const nameless = await page.evaluate<string[]>(`[...document.querySelectorAll("input, select, button")]
      .filter((one) => !one.labels?.length && !one.getAttribute("aria-label") && one.textContent.trim() === "")
      .map((one) => one.outerHTML)`);
    expect(nameless).toEqual([]);
    const landmarks =
      "['header', 'nav', 'main', '[role=status]'].map((name) => document.querySelectorAll('body > ' + name).length)";
    expect(await page.evaluate(landmarks)).toEqual([1, 1, 1, 1]);
  });

  it("loses a response, delays one and refuses one, each for a client", async () => {
    const { page, client, server } = await visit();
    const payment = paymentFromIntent(await client.paymentIntents.create(intentRequest), "TX-1");
    await page.click("button.fault[value=lost]");
    await shows(page, "#armed li", "The next request of any operation loses its response.");
    await expect(client.payments.create(payment)).rejects.toMatchObject({ name: "OutcomeUnknownError" });
    expect(server.sandbox.payments).toHaveLength(1);
    await shows(page, "#request-list li", "response lost");
    await shows(page, "#payments h3", "108.57 EUR");
    expect(await page.locator("#armed li").count()).toBe(0);

    await page.fill("[name=delaySeconds]", "0.5");
    await page.click("button.fault[value=delay]");
    await shows(page, "#armed li", "(0.5 s)");
    const startMs = performance.now();
    await client.payments.list();
    expect(performance.now() - startMs).toBeGreaterThan(499);

    await page.click("button.fault[value=unavailable]");
    await shows(page, "#armed li", "503");
    await expect(client.payments.list()).rejects.toMatchObject({ status: 503 });
    await client.payments.list();

    await page.click("button.fault[value=lost]");
    await page.waitForSelector("#armed button");
    await page.click("#armed button");
    await until(page, "document.querySelectorAll('#armed li').length === 0");
    await until(page, "document.activeElement.matches('button.fault')");
    await client.payments.list();
  });

  it("tells why a signature is wrong, and says it aloud", async () => {
    const { page, alpha, server } = await visit();
    const accessToken = await sendWronglySigned(server, alpha.privateKey);
    await shows(page, ".findings li", "path: signed with no base path (/gateway/v1)");
    await shows(page, ".findings .remedy", "base path included");
    await shows(page, "#message", "The signature of POST /gateway/v1/payments is wrong");
    expect(await page.evaluate("document.documentElement.outerHTML")).not.toContain(accessToken);
  });

  it("shows the same in two tabs, and after a reload", async () => {
    const { page, server, newTab } = await visit();
    const other = await newTab();
    await page.click("button.fault[value=lost]");
    await shows(other, "#armed li", "loses its response");
    await other.click("#intent-form [type=submit]");
    // The response to the console's own request is lost, too.
    await shows(other, "#message", "The response was lost. The intent may be there");
    await other.click("#intent-form [type=submit]");
    await other.waitForSelector("#payment-form:not([hidden])");
    expect(server.sandbox.ledger.paymentIntents).toHaveLength(2);
    await until(page, "document.querySelectorAll('#intents li').length === 2");
    await other.reload();
    await other.waitForSelector("#intents li button");
    await other.click("#intents li button");
    await other.click("#payment-form [type=submit]");
    await shows(page, "#payments h3", "EUR");
    expect(server.sandbox.payments).toHaveLength(1);
  });

  it.each(["light", "dark"] as const)(
    "can be read in %s colours, and at 360 px without scrolling sideways",
    async (colorScheme) => {
      const { page, client, server, alpha } = await visit();
      await client.payments.create(paymentFromIntent(await client.paymentIntents.create(intentRequest), "TX-1"));
      await page.click("#intent-form [type=submit]");
      await page.waitForSelector("#payment-form:not([hidden])");
      await page.click("#hide-own");
      await sendWronglySigned(server, alpha.privateKey);
      await shows(page, ".findings li", "path: ");
      await page.click("button.fault[value=lost]");
      await shows(page, "#armed li", "loses its response");
      await page.emulateMedia({ colorScheme });
      const [ground = 0] = await page.evaluate<number[]>(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)",
      );
      expect(ground > 127).toBe(colorScheme === "light");
      expect(await page.evaluate(poorContrasts)).toEqual([]);
      // The check itself sees what nobody can read.
      await page.evaluate("document.querySelector('h1').style.color = getComputedStyle(document.body).backgroundColor");
      expect(await page.evaluate(poorContrasts)).toHaveLength(1);
      await page.evaluate("document.querySelector('h1').style.color = ''");
      for (const width of [1280, 768, 360]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate("document.documentElement.scrollWidth"), `${width} px`).toBe(width);
        if (CBP_CONSOLE_SCREENSHOTS === undefined) continue;
        await page.evaluate("scrollTo(0, 0)");
        await page.screenshot({ path: join(CBP_CONSOLE_SCREENSHOTS, `console-${colorScheme}-${width}.png`) });
      }
    },
  );

  it("is of no use to a page of another origin, or of a name that leads here", async () => {
    const { server, profile } = await visit();
    const attacker = createServer((_, response) => response.end("<!doctype html><title>attacker</title>"));
    const { port } = new URL(await originInTest(attacker));
    const consoleUrl = JSON.stringify(server.consoleUrl);
    const fault = JSON.stringify({ kind: "lost", of: "operations", times: "1", delaySeconds: "1" });
    for (const origin of [`http://attacker.test:${port}`, `http://127.0.0.1:${port}`]) {
      const page = await profile.newPage();
      await page.goto(origin);
      const tries = await page.evaluate<string[]>(`(async () => {
        const own = { method: "POST", body: ${JSON.stringify(fault)}, headers: { "content-type": "application/json", "x-sandbox-console": "1" } };
        const results = [
          fetch(${consoleUrl} + "state"),
          fetch(${consoleUrl} + "fault", own),
          fetch(${consoleUrl} + "fault", { ...own, mode: "no-cors", headers: { "content-type": "text/plain" } }),
        ];
        return (await Promise.allSettled(results)).map(({ status, value }) => value?.type ?? status);
      })()`);
      // Of a request without CORS a page hears nothing, not even whether it was refused.
      expect(tries).toEqual(["rejected", "rejected", expect.stringMatching(/opaque|rejected/)]);
      await page.evaluate(`new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.onload = resolve;
        frame.src = ${consoleUrl};
        document.body.append(frame);
      })`);
      expect(
        await page.evaluate(
          "frames[0].length + [...document.querySelectorAll('iframe')].map((one) => one.contentDocument?.title).join()",
        ),
      ).not.toContain("Sandbox");
    }
    const rebound = await profile.newPage();
    await rebound.goto(`http://attacker.test:${new URL(server.url).port}/console/`);
    expect(await textOf(rebound, "body")).toContain('"refused"');
    expect(await rebound.evaluate("fetch('state').then(({ status }) => status)")).toBe(403);
    expect(await (await fetch(`${server.consoleUrl}state`)).json()).toMatchObject({ faults: [] });
  });
});

/** Signs a payment without the base path. Returns the access token that it was sent with. */
async function sendWronglySigned(server: SandboxServer, key: string): Promise<string> {
  const { username, password, clientId } = server.sandbox.credentials;
  const form = new URLSearchParams({ grant_type: "password", client_id: clientId, username, password });
  const token = await fetch(server.url + server.sandbox.tokenPath, { method: "POST", body: form });
  const { access_token: accessToken } = Object(await token.json());
  const body = JSON.stringify({ senderGatewayId: "alpha-bank" });
  const headers = {
    ...{ authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
    "x-service-signature-base64": await signRequest({ key, path: "/payments", body }),
  };
  expect(await fetch(`${server.baseUrl}/payments`, { method: "POST", headers, body })).toMatchObject({ status: 400 });
  return accessToken;
}

/** The texts of a page that stand out from their ground by less than WCAG 2.2 demands (4.5 to 1). */
const poorContrasts = `(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = parts(colour).map((one) => {
      const share = one / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const groundOf = (element) => {
    for (let one = element; one !== null; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if ((parts(colour)[3] ?? 1) === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.checkVisibility() && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""))
    .flatMap((one) => {
      const [text, ground] = [luminance(getComputedStyle(one).color), luminance(groundOf(one))];
      const contrast = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
      return contrast < 4.5 ? [one.outerHTML.slice(0, 100) + " " + contrast] : [];
    });
})()`;
