import { afterEach, describe, expect, it, vi } from "vitest";
import { callbackOf, currentPage } from "../../src/login/browser-login.js";
import { Tab } from "./tab.js";

afterEach(() => void vi.unstubAllGlobals());

it.each(["location", "history", "sessionStorage"])("is no page without %s", (name) => {
  new Tab("https://bank.test/app");
  expect(currentPage()).toHaveProperty(name);
  vi.stubGlobal(name, undefined);
  expect(() => currentPage()).toThrow("BrowserLogin: there is no page here");
});

describe("the callback in a page's address", () => {
  const at = (href: string, begun?: string) => {
    new Tab(href);
    return callbackOf(currentPage(), "https://bank.test/app", begun)?.toString();
  };

  it.each(["state=s&code=c", "state=s&error=e", "state=s&code="])("is there: %s", (query) => {
    expect(at(`https://bank.test/app?${query}`)).toBe(query);
  });

  it.each(["", "?state=s", "?code=c", "?error=e", "?code=c&error=e", "?other=state"])("is not there: %s", (query) => {
    expect(at(`https://bank.test/app${query}`)).toBeUndefined();
    expect(at(`https://bank.test/app${query}`, "s")).toBeUndefined();
  });

  it("is that of the login that began here, where the page is another one", () => {
    expect(at("https://bank.test/other?state=s&code=c", "s")).toBe("state=s&code=c");
    expect(at("https://bank.test/other?state=s&code=c", "t")).toBeUndefined();
    expect(at("https://other.test/app?state=s&code=c")).toBeUndefined();
  });
});
