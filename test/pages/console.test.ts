import { CrossBorderClient, generateSigningKeyPair, paymentFromIntent, signRequest } from "cross-border-payments";
import { type SandboxServer, startSandbox } from "cross-border-payments/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Page } from "../support/chromium.js";
import { intentRequest, openCorridor } from "../support/corridor.js";
import { faultsOf, misledBrowser, tabTo, watchedPage } from "./watched-page.js";

/** In Chromium: the console of the built package, before a client over real sockets. */
describe("the sandbox's console", () => {
  const browser = misledBrowser();

  /** The console can sign for the gateways. */
  async function visit(options: { readonly javaScriptEnabled?: boolean } = {}) {
    const { privateKey, publicKeyBase64 } = await generateSigningKeyPair();
    const server = await startSandbox({
      console: { signingKeys: [privateKey] },
      ...{ basePath: "/gateway/v1", fee: "25.00" },
    });
    const client = new CrossBorderClient({ ...server.clientOptions, signingKey: privateKey, maxRetries: 0 });
    await openCorridor(client, publicKeyBase64);
    server.sandbox.accounts.add({ gatewayId: "alpha-bank", account: "DE-0001", name: "Ada Sender" });
    server.sandbox.accounts.add({ gatewayId: "beta-mobile", account: "KE-7002", name: "Baraka Receiver" });
    const profile = await browser.newProfile(options);
    onTestFinished(async () => {
      await profile.close();
      await client.close();
      await server.close();
    });
    const asked: string[] = [];
    const page = await watchedPage(profile, asked);
    await page.goto(server.consoleUrl ?? "");
    return { server, client, privateKey, page, asked };
  }

  const textOf = async (page: Page, selector = "main") => (await page.locator(selector).textContent()) ?? "";
  const shows = (page: Page, selector: string, text: string) =>
    expect.poll(() => textOf(page, selector), { message: text }).toContain(text);

  it("makes a payment by keyboard alone and without script, and asks nobody else for anything", async () => {
    const { page, server, asked } = await visit({ javaScriptEnabled: false });
    await page.goto(`${server.consoleUrl}pay`);
    for (const [name, value] of Object.entries({ receiverAmount: "15000.00", transactionId: "TX-1" })) {
      await tabTo(page, `[name=${name}]`);
      await page.keyboard.press("Control+a");
      await page.keyboard.type(value);
    }
    await page.keyboard.press("Enter");
    await shows(page, "main", "POST /gateway/v1/payments");
    const [payment] = server.sandbox.payments;
    // (15000 + 25) / 150, rounded up.
    expect(payment).toMatchObject({ senderAmount: "100.17", senderGatewayTransactionId: "TX-1" });
    await page.goto(`${server.consoleUrl}payments`);
    await tabTo(page, "[name=status]");
    await page.keyboard.type("processed");
    await tabTo(page, "td button");
    await page.keyboard.press("Enter");
    await expect.poll(() => server.sandbox.payments[0]).toMatchObject({ receiverGatewayStatus: "processed" });
    const { origin } = new URL(server.url);
    expect(asked.filter((address) => !address.startsWith(`${origin}/console/`) && address !== "data:,")).toEqual([]);
  });

  it("shows requests as they come, an armed fault, and why a signature is wrong", async () => {
    const { page, client, server, privateKey } = await visit();
    await client.payments.list();
    await shows(page, "[data-live]", "payments.list");
    const payment = paymentFromIntent(await client.paymentIntents.create(intentRequest), "TX-1");
    await page.goto(`${server.consoleUrl}faults`);
    await page.click("form[action='/console/faults'] button");
    await shows(page, ".warn", "the next request will lose its response");
    await expect(client.payments.create(payment)).rejects.toMatchObject({ name: "OutcomeUnknownError" });
    expect(server.sandbox.payments).toHaveLength(1);
    await page.goto(server.consoleUrl ?? "");
    await shows(page, "[data-live] tr:nth-child(1) .warn", "response lost");
    const accessToken = await sendWronglySigned(server, privateKey);
    await shows(page, "[data-live]", "wrong");
    await page.click("[data-live] tbody a");
    await shows(page, "main", "path: signed with no base path (/gateway/v1)");
    expect(await page.evaluate("document.documentElement.outerHTML")).not.toContain(accessToken);
  });

  it.each(["light", "dark"] as const)(
    "can be read in %s colors, and at 360 px, with nothing cut",
    async (colorScheme) => {
      const { page, client, server, privateKey } = await visit();
      const intent = await client.paymentIntents.create(intentRequest);
      await client.payments.create(paymentFromIntent(intent, "TX-1"));
      await sendWronglySigned(server, privateKey);
      await page.emulateMedia({ colorScheme });
      await page.goto(`${server.consoleUrl}faults`);
      await page.click("form[action='/console/faults'] button");
      const [, newest] = /"\/console\/(requests\/\d+)"/.exec(await (await fetch(server.consoleUrl ?? "")).text()) ?? [];
      for (const path of ["", "payments", "records", "pay", "faults", newest]) {
        await page.goto(`${server.consoleUrl}${path}`);
        const [ground = 0] = await page.evaluate<number[]>(
          "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)",
        );
        expect(ground > 127).toBe(colorScheme === "light");
        for (const width of [1440, 768, 360]) {
          await page.setViewportSize({ width, height: 900 });
          expect(await faultsOf(page), `${path} at ${width} px`).toEqual([]);
        }
      }
    },
  );
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
