import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { patienceMs } from "./patience.js";

/** What is used of a page of playwright-core. */
export interface Page {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  url(): string;
  title(): Promise<string>;
  fill(selector: string, value: string): Promise<void>;
  click(selector: string): Promise<void>;
  evaluate<T>(script: string): Promise<T>;
  locator(selector: string): {
    textContent(): Promise<string | null>;
    count(): Promise<number>;
  };
  waitForSelector(selector: string): Promise<unknown>;
  waitForFunction(script: string): Promise<unknown>;
  route(pattern: RegExp, handle: (route: Route) => Promise<void>, options?: { readonly times?: number }): Promise<void>;
  on(event: "pageerror", listener: (error: Error) => void): void;
  on(event: "request", listener: (request: { url(): string }) => void): void;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(options: { readonly colorScheme: "light" | "dark" }): Promise<void>;
}

/** A request of a page that is looked at on its way. */
export interface Route {
  request(): { url(): string; method(): string };
  continue(): Promise<void>;
}

/** A person's browser, with its cookies. */
export interface Profile {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

export interface Browser extends AsyncDisposable {
  newProfile(options?: { readonly javaScriptEnabled?: boolean }): Promise<Profile>;
}

/** Debian's Chromium, by playwright-core of `tools`, with more flags of the command line. */
export async function openBrowser(tools: string, flags: readonly string[] = []): Promise<Browser> {
  const executablePath = execFileSync("bash", ["test/support/chromium.sh"], { encoding: "utf8" }).trim();
  const { chromium } = createRequire(join(tools, "package.json"))("playwright-core");
  // Chromium has no sandbox of its own for root, and containers have little shared memory.
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-dev-shm-usage", ...flags],
  });
  return {
    async newProfile(options = {}) {
      const profile = await browser.newContext({ viewport: { width: 960, height: 640 }, ...options });
      profile.setDefaultTimeout(patienceMs);
      return profile;
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}
