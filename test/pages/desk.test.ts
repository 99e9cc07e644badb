import { createServer } from "node:http";
import { CrossBorderClient, generateSigningKeyPair } from "cross-border-payments";
import { deskListener, operatorDesk } from "cross-border-payments/desk";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { startSandbox } from "cross-border-payments/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Page, Profile } from "../support/chromium.js";
import { intentRequest, openCorridor } from "../support/corridor.js";
import { originOf } from "../support/origin-of.js";
import { faultsOf, misledBrowser, tabTo, watchedPage } from "./watched-page.js";

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
    await openCorridor(client, keys.publicKeyBase64);
    const released: string[] = [];
    const flow = new PaymentFlow({
      ...{ client, journal: new MemoryJournal(), leaseMs: 300, readBackDelayMs: 10, decisions: { people: 2 } },
      takeFunds: () => ({ senderGatewayTransactionId: "TX-1", replayed: false }),
      releaseFunds: ({ key }) => {
        released.push(key);
      },
    });
    await flow.run(keyOf, { ...intentRequest, memo });
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
    const profiles: Profile[] = [];
    onTestFinished(async () => {
      for (const profile of profiles) await profile.close();
      server.close();
      server.closeAllConnections();
      await client.close();
      await sandbox.close();
    });
    const asked: string[] = [];
    const sitDown = async (name: string): Promise<Page> => {
      const profile = await browser.newProfile();
      profiles.push(profile);
      const page = await watchedPage(profile, asked);
      await page.goto(`${origin}/login/${name}`);
      return page;
    };
    const [olga, petra] = [await sitDown("olga"), await sitDown("petra")];
    return { flow, released, shown, origin, port, asked, olga, petra };
  }

  const textOf = async (page: Page) => (await page.locator("main").textContent()) ?? "";

  it("lets two people decide about a held flow, one by keyboard alone, and asks no one else for anything", async () => {
    const { flow, released, origin, asked, olga, petra } = await visit();
    /** On the way, every control shows that it has the focus. */
    const press = async (selector: string, next: string) => {
      await tabTo(olga, selector);
      await olga.keyboard.press("Enter");
      await olga.waitForSelector(next);
    };
    await press("td a", "[name=why]");
    expect(await olga.title()).toBe(`${keyOf} – Operator console`);
    await tabTo(olga, "[name=why]");
    await olga.keyboard.type("not made, ticket 4711");
    await press("button.card.release", "form:has([value=propose])");
    for (const shown of ["Refund 100.00 EUR to the sender?", "not made, ticket 4711"]) {
      expect(await textOf(olga)).toContain(shown);
    }
    await press("form:has([value=propose]) button.release", "[role=status]");
    expect(await textOf(olga)).toContain("You proposed this. Another person must approve it.");
    await petra.reload();
    for (const [selector, next] of [
      ["td a", "form:has([value=approve])"],
      ["form:has([value=approve]) button", "[role=status]"],
    ] as const) {
      await petra.click(selector);
      await petra.waitForSelector(next);
    }
    expect(await textOf(petra)).toContain("Decided and carried out.");
    expect(released).toEqual([keyOf]);
    const decisions = [{ action: "release", by: "olga", approvedBy: "petra" }];
    expect((await flow.status(keyOf))?.outcome).toMatchObject({ status: "rejected", decisions });
    expect(asked.every((url) => url.startsWith(origin) || url.startsWith("data:"))).toBe(true);
  });

  it("copies the evidence, shows local times, and names and accounts when asked, and runs nothing of a memo", async () => {
    const { olga, shown } = await visit();
    await olga.click("td a");
    await olga.waitForSelector("[data-copy]:not([hidden])");
    await olga.click("[data-copy]");
    await expect.poll(() => olga.locator("[data-copy]").textContent()).toBe("Copied");
    expect(await olga.locator("#evidence").textContent()).toMatch(
      /Transaction id: TX-1\n.*Sent between: .*Signature: /s,
    );
    const isLocal = `[...document.querySelectorAll("time")].every((time) => !time.textContent.endsWith("UTC"))`;
    expect(await olga.evaluate(isLocal)).toBe(true);
    expect(await textOf(olga)).not.toContain("DE-0001");
    await olga.click("form:has([value=show]) button");
    await expect.poll(() => textOf(olga)).toContain("DE-0001");
    expect(shown).toMatchObject([{ by: "olga", key: keyOf }]);
    expect(await textOf(olga)).toContain(memo);
    expect(await olga.title()).toBe(`${keyOf} – Operator console`);
    expect(await olga.locator("main script, main img, main b b").count()).toBe(0);
  });

  it("is whole and readable at 360 and 1,440 px, light and dark", async () => {
    const { olga } = await visit();
    const look = async (name: string) => {
      for (const width of [360, 1440]) {
        await olga.setViewportSize({ width, height: 900 });
        for (const colorScheme of ["light", "dark"] as const) {
          await olga.emulateMedia({ colorScheme });
          expect(await faultsOf(olga), `${name}, ${width} px, ${colorScheme}`).toEqual([]);
          const ground = await olga.evaluate("getComputedStyle(document.body).backgroundColor");
          expect(ground).toBe(colorScheme === "light" ? "rgb(244, 246, 248)" : "rgb(14, 19, 25)");
        }
      }
    };
    await look("queue");
    await olga.click("td a");
    await olga.waitForSelector("[name=why]");
    await look("flow");
    await olga.fill("[name=why]", "not made, ticket 4711");
    await olga.click("button.card.release");
    await olga.waitForSelector("form:has([value=propose])");
    await look("confirm");
    await olga.click("form:has([value=propose]) button.release");
    await olga.waitForSelector("[role=status]");
    await look("proposal");
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
