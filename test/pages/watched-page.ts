import { afterAll, beforeAll, expect } from "vitest";
import { cutParts, faintTexts } from "../look/page-faults.js";
import { type Browser, openBrowser, type Page, type Profile } from "../support/chromium.js";
import { installTools } from "../support/install-tools.js";

/** Chromium for the tests of a file, in which every name under `.test` leads to this machine, as a resolver of an attacker's may have it. */
export function misledBrowser(): Pick<Browser, "newProfile"> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await openBrowser(installTools("test/matrix", "matrix"), ["--host-resolver-rules=MAP *.test 127.0.0.1"]);
  });
  afterAll(() => browser?.[Symbol.asyncDispose]());
  return {
    newProfile: (options) => browser?.newProfile(options) ?? Promise.reject(new Error("the browser is not open yet")),
  };
}

/** A page whose errors fail the test. @param asked gets each address that it asks for. */
export async function watchedPage(profile: Profile, asked: string[]): Promise<Page> {
  const page = await profile.newPage();
  page.on("pageerror", (error) => expect.soft(error, "an error of the page").toBeUndefined());
  page.on("request", (request) => asked.push(request.url()));
  return page;
}

/** Presses the key for the next control until it is this one, and sees that each control on the way shows that it has the focus. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 100; presses += 1) {
    await page.keyboard.press("Tab");
    const [isThere, outline] = await page.evaluate<[boolean, string]>(
      `[document.activeElement.matches(${JSON.stringify(selector)}), getComputedStyle(document.activeElement).outlineStyle]`,
    );
    if (outline === "none")
      expect.soft(await page.evaluate("document.activeElement.outerHTML")).toBe("with an outline");
    if (isThere) return;
  }
  throw new Error(`the key for the next control never leads to ${selector}`);
}

/** What can't be seen whole in the page's `main`, or not read. */
export async function faultsOf(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  for (const script of [cutParts, faintTexts])
    found.push(...(await page.evaluate<string[]>(script.replaceAll(".VPContent", "main"))));
  return found;
}
