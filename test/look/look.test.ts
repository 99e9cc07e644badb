import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pages as guides } from "../../tools/site/pages.js";
import { type Browser, openBrowser, type Page } from "../support/chromium.js";
import { errorCodes } from "../support/error-codes.js";
import { installTools } from "../support/install-tools.js";
import { isThorough } from "../support/thorough.js";
import { cutParts, faintTexts } from "./page-faults.js";
import { serveFolder } from "./serve-folder.js";

/** The built site, as people see it: `npm run site` makes it. */
const dist = "tools/site/dist";
const widths = [1_440, 1_280, 360];
/** Whether something is cut depends on the width alone, and what is in the window is drawn: little of it. */
const height = 200;

const addresses = existsSync(dist)
  ? readdirSync(dist, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".html") && file !== "404.html")
      .map((file) => `/${file.replace(/(?:index)?\.html$/, "")}`)
  : [];
const ofGuides = ["/", ...guides.map(({ name }) => `/${name}`)];

let site: Awaited<ReturnType<typeof serveFolder>>;
let browser: Browser;
beforeAll(async () => {
  site = await serveFolder(dist);
  browser = await openBrowser(installTools("tools/site", "site"));
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

async function visit(page: Page, address: string): Promise<void> {
  await page.goto(site.url + address);
  await page.waitForSelector(".VPContent");
}

it("has every guide, and the reference", () => {
  expect(addresses).toEqual(expect.arrayContaining(ofGuides));
  expect(addresses.filter((address) => address.startsWith("/reference/")).length).toBeGreaterThan(200);
});

it("has the section that each code of an error leads to", () => {
  const page = readFileSync(join(dist, "error-codes.html"), "utf8");
  expect(errorCodes().filter((code) => !page.includes(` id="${code}"`))).toEqual([]);
});

/** Calls `look` with each address, in a few pages at a time, and returns all faults that it found. */
async function lookAt(
  all: readonly string[],
  look: (page: Page, address: string) => Promise<readonly string[]>,
  options = {},
): Promise<readonly string[]> {
  const profile = await browser.newProfile(options);
  const faults: string[] = [];
  const left = [...all];
  const lookOn = async () => {
    const page = await profile.newPage();
    for (let address = left.pop(); address !== undefined; address = left.pop()) {
      for (const fault of await look(page, address)) faults.push(`${address}: ${fault}`);
    }
  };
  await Promise.all([lookOn(), lookOn(), lookOn()]);
  await profile.close();
  return faults;
}

/** Pages of the reference come from one template: the largest stand for all, but with `CBP_THOROUGH`. */
function ofReference(): readonly string[] {
  const pages = addresses.filter((address) => !ofGuides.includes(address));
  const sizeOf = (address: string) =>
    statSync(join(dist, address.endsWith("/") ? `${address}index.html` : `${address}.html`)).size;
  return isThorough ? pages : pages.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(0, 12);
}

/** At which widths a page that was visited in the widest window shows something that readers can't see whole. */
async function cutAtWidths(page: Page): Promise<readonly string[]> {
  const faults: string[] = [];
  // The widest first: the sidebar would still be on its way into a window that grows.
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    const found = await page.evaluate<string[]>(cutParts);
    faults.push(...found.map((fault) => `at ${width} pixels: ${fault}`));
  }
  return faults;
}

const widest = { width: Math.max(...widths), height };

it("shows every page of the reference whole, however wide the window is", async () => {
  const look = async (page: Page, address: string) => {
    await page.setViewportSize(widest);
    await visit(page, address);
    return cutAtWidths(page);
  };
  expect(await lookAt(ofReference(), look, { javaScriptEnabled: false })).toEqual([]);
});

it("shows every guide whole, can be read in light and dark colours, and asks no other host for anything", async () => {
  const watched = new Set<Page>();
  const foreign: string[] = [];
  const look = async (page: Page, address: string) => {
    if (!watched.has(page)) {
      watched.add(page);
      page.on("request", (request) => {
        if (!request.url().startsWith(site.url) && !request.url().startsWith("data:")) foreign.push(request.url());
      });
    }
    await page.setViewportSize(widest);
    await page.emulateMedia({ colorScheme: "light" });
    await visit(page, address);
    const inLight = await page.evaluate<string[]>(faintTexts);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForSelector("html.dark");
    const inDark = await page.evaluate<string[]>(faintTexts);
    const cut = await cutAtWidths(page);
    return [...inLight.map((fault) => `light: ${fault}`), ...inDark.map((fault) => `dark: ${fault}`), ...cut];
  };
  expect(await lookAt(ofGuides, look)).toEqual([]);
  expect(foreign).toEqual([]);
});

describe("a page", () => {
  it("can be edited, and its code copied", async () => {
    const profile = await browser.newProfile();
    const page = await profile.newPage();
    await visit(page, "/errors");
    expect(await page.evaluate<string>("document.body.innerText")).toContain("Edit this page");
    expect(await page.evaluate("document.querySelector('.edit-link-button').href")).toMatch(
      /\/edit\/main\/docs\/errors\.md$/,
    );
    expect(await page.locator("button.copy").count()).toBeGreaterThan(0);
    await profile.close();
  });
});

it.each([
  ["webhook", "/reconcile"],
  ["idempotency", "/durable-flow"],
  ["retry", "/errors"],
  ["refund", "/refund"],
  ["timeout", "/errors"],
  ["logging", "/observability"],
  ["CLI", "/command"],
  ["create a deposit", "/liquidity-providers"],
  ["authentication", "/tokens"],
])("finds a guide for the word %s before anything of the reference", async (word, guide) => {
  const profile = await browser.newProfile();
  const page = await profile.newPage();
  await visit(page, "/concepts");
  await page.click(".DocSearch-Button");
  await page.waitForSelector(".VPLocalSearchBox input");
  await page.fill(".VPLocalSearchBox input", word);
  await page.waitForSelector(".VPLocalSearchBox .result");
  const found = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.VPLocalSearchBox a.result')].map((link) => new URL(link.href).pathname)",
  );
  await profile.close();
  const inReference = found.findIndex((address) => address.startsWith("/reference/"));
  expect(found.slice(0, inReference === -1 ? undefined : inReference)).toContain(guide);
});

it("names the class of every error that the reference says is thrown", () => {
  const staged = "tools/site/staged/reference";
  const files = readdirSync(staged, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
  const entries = files.flatMap((file) => {
    const throws = readFileSync(join(staged, file), "utf8").matchAll(/^#+ Throws\n\n(.*)$/gm);
    return [...throws].map(([, text = ""]) => `${file}: ${text}`);
  });
  expect(entries.length).toBeGreaterThan(80);
  expect(entries.filter((entry) => !/: (?:\[`?|`)[A-Z]\w+(?:Error|Failure)/.test(entry))).toEqual([]);
});
