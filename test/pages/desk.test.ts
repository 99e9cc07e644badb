import { createServer } from "node:http";
import { join } from "node:path";
import { CrossBorderClient, generateSigningKeyPair } from "cross-border-payments";
import { deskListener, operatorDesk } from "cross-border-payments/desk";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { startSandbox } from "cross-border-payments/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Page } from "../support/chromium.js";
import { originOf } from "../support/origin-of.js";
import { misledBrowser, tabTo, watchedPage } from "./watched-page.js";

const { CBP_CONSOLE_SCREENSHOTS } = process.env;
const people = ["olga", "petra"];
const memo = `rent"><script>document.title = "attacked"</script><img src=x onerror="document.title='attacked'">`;
const keyOf = "order-42/<b>";

/** In Chromium: the desk of the built package, over real sockets, behind a login by cookie. */
describe("the operators' desk", () => {
  const browser = misledBrowser();

  /** A held flow, and both people at their own browsers. */
  async function visit() {
    const keys = await generateSigningKeyPair();
    const sandbox = await startSandbox({
      onRequest: ({ operation }) => (operation === "payments.create" ? Response.json({}, { status: 504 }) : undefined),
    });
    const client = new CrossBorderClient({ ...sandbox.clientOptions, signingKey: keys.privateKey, maxRetries: 0 });
    for (const institutionId of ["alpha-bank", "beta-mobile"]) {
      await client.paymentGateways.create({
        ...{ institutionId, currency: "EUR" },
        rsaPublicKeyBase64: keys.publicKeyBase64,
      });
    }
    const released: string[] = [];
    const flow = new PaymentFlow({
      ...{ client, journal: new MemoryJournal(), leaseMs: 300, readBackDelayMs: 10, decisions: { people: 2 } },
      takeFunds: () => ({ senderGatewayTransactionId: "TX-1", replayed: false }),
      releaseFunds: ({ key }) => {
        released.push(key);
      },
    });
    await flow.run(keyOf, {
      ...{ senderGatewayId: "alpha-bank", senderAccount: "DE-0001", senderCurrency: "EUR" },
      ...{ receiverGatewayId: "beta-mobile", receiverAccount: "KE-7002", receiverCurrency: "EUR" },
      ...{ receiverAmount: "150.00", memo },
    });
    const server = createServer();
    const origin = await originOf(server);
    const { port } = new URL(origin);
    const shown: object[] = [];
    const desk = operatorDesk({
      ...{ flow, origin, on: { shown: (event) => shown.push(event) } },
      authenticate: (request) => {
        const name = /user=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1];
        return name === undefined ? null : { name };
      },
    });
    const listener = deskListener(desk);
    server.on("request", (incoming, outgoing) => {
      // The bank's own login, and a page of an attacker's.
      const [, user] = /^\/login\/(\w+)/.exec(incoming.url ?? "") ?? [];
      if (user !== undefined) {
        outgoing
          .writeHead(303, { location: "/desk", "set-cookie": `user=${user}; HttpOnly; SameSite=Lax; Path=/` })
          .end();
      } else if (incoming.url?.startsWith("/evil")) {
        const form = `<form method="post" action="${origin}/desk?flow=${encodeURIComponent(keyOf)}"><input name="do" value="propose"><input name="action" value="release"><input name="why" value="evil"><button>Win</button></form>`;
        outgoing.writeHead(200, { "content-type": "text/html" }).end(form);
      } else void listener(incoming, outgoing);
    });
    const profiles = await Promise.all(people.map(() => browser.newProfile()));
    onTestFinished(async () => {
      for (const profile of profiles) await profile.close();
      server.close();
      server.closeAllConnections();
      await client.close();
      await sandbox.close();
    });
    const asked: string[] = [];
    const pages: Page[] = [];
    for (const [index, profile] of profiles.entries()) {
      const page = await watchedPage(profile, asked);
      await page.goto(`${origin}/login/${people[index]}`);
      pages.push(page);
    }
    const [olga, petra] = pages;
    if (olga === undefined || petra === undefined) throw new Error("there are not two");
    return { flow, released, shown, origin, port, asked, olga, petra };
  }

  const textOf = async (page: Page) => (await page.locator("main").textContent()) ?? "";

  it("lets two people decide about a held flow, in a few clicks, and asks nobody else for anything", async () => {
    const { flow, released, origin, asked, olga, petra } = await visit();
    const startMs = performance.now();
    let clicks = 0;
    const click = async (page: Page, selector: string) => {
      clicks += 1;
      await page.click(selector);
    };
    await click(olga, "ul.flows a");
    await olga.waitForSelector("[name=why]");
    await click(olga, "[value=release]");
    await olga.fill("[name=why]", "not made, ticket 4711");
    await click(olga, "form:has([value=propose]) button");
    await olga.waitForSelector("[role=status]");
    expect(await textOf(olga)).toContain("You proposed this. Another person must approve it.");
    await petra.reload();
    await click(petra, "ul.flows a");
    await petra.waitForSelector("form:has([value=approve])");
    await click(petra, "form:has([value=approve]) button");
    await petra.waitForSelector("[role=status]");
    console.log(`two people decided in ${((performance.now() - startMs) / 1000).toFixed(1)} s and ${clicks} clicks`);
    expect(await textOf(petra)).toContain("Decided and carried out.");
    expect(released).toEqual([keyOf]);
    expect(clicks).toBeLessThanOrEqual(5);
    const { outcome } = (await flow.status(keyOf)) ?? {};
    expect(outcome).toMatchObject({
      status: "rejected",
      decisions: [{ action: "release", by: "olga", approvedBy: "petra" }],
    });
    expect(asked.every((url) => url.startsWith(origin) || url.startsWith("data:"))).toBe(true);
    for (const page of [olga, petra]) expect(await page.title()).toBe("Operators' desk");
  });

  it("is decided at by keyboard alone, and every control on the way shows that it has the focus", async () => {
    const { olga, flow } = await visit();
    await tabTo(olga, "ul.flows a");
    await olga.keyboard.press("Enter");
    await olga.waitForSelector("[name=why]");
    await tabTo(olga, "[name=action]");
    await olga.keyboard.press("ArrowDown");
    await tabTo(olga, "[name=why]");
    await olga.keyboard.type("ticket 4711");
    await olga.keyboard.press("Enter");
    await olga.waitForSelector("[role=status]");
    expect((await flow.details(keyOf))?.outcome).toMatchObject({ proposal: { action: "release", why: "ticket 4711" } });
  });

  it("shows names and accounts when asked, runs nothing of a memo, and fits into 360 px, light and dark", async () => {
    const { olga, shown } = await visit();
    await olga.click("ul.flows a");
    await olga.waitForSelector("form:has([value=show])");
    expect(await textOf(olga)).not.toContain("DE-0001");
    await olga.click("form:has([value=show]) button");
    await olga.waitForSelector("main");
    await expect.poll(async () => await textOf(olga)).toContain("DE-0001");
    expect(shown).toMatchObject([{ by: "olga", key: keyOf }]);
    expect(await textOf(olga)).toContain(memo);
    expect(await olga.title()).toBe("Operators' desk");
    expect(await olga.locator("main script, main img, main b b").count()).toBe(0);
    await olga.setViewportSize({ width: 360, height: 740 });
    for (const colorScheme of ["light", "dark"] as const) {
      await olga.emulateMedia({ colorScheme });
      const [width, ground] = await olga.evaluate<[number, string]>(
        "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]",
      );
      expect(width).toBeLessThanOrEqual(360);
      expect(ground).toBe(colorScheme === "light" ? "rgb(246, 247, 249)" : "rgb(13, 17, 23)");
      if (CBP_CONSOLE_SCREENSHOTS !== undefined) {
        await olga.screenshot({ path: join(CBP_CONSOLE_SCREENSHOTS, `desk-${colorScheme}.png`), fullPage: true });
      }
    }
  });

  it("takes no form of another site's page, nor is it there under another name", async () => {
    const { olga, flow, port } = await visit();
    for (const site of [`http://evil.test:${port}`, `http://localhost:${port}`]) {
      await olga.goto(`${site}/evil`);
      await olga.click("button");
      await olga.waitForSelector("[role=alert]");
      expect(await textOf(olga)).toContain("Refused:");
    }
    await olga.goto(`http://evil.test:${port}/desk`);
    expect(await textOf(olga)).toContain("not at the host");
    expect((await flow.details(keyOf))?.outcome).not.toHaveProperty("proposal");
  });
});
