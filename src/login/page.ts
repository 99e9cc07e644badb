import { ConfigError } from "../core/errors.js";

export interface BrowserPage {
  readonly location: { readonly href: string; assign(url: string): void; reload(): void };
  readonly history: { readonly state: unknown; replaceState(state: unknown, unused: string, url: string): void };
  readonly sessionStorage: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
}

/**
 * The page that runs this.
 *
 * @throws {ConfigError} where there is none, or it may not store anything.
 */
export function currentPage(): BrowserPage {
  try {
    const { location, history, sessionStorage } = globalThis as Partial<BrowserPage>;
    if (location !== undefined && history !== undefined && sessionStorage !== undefined) {
      return { location, history, sessionStorage };
    }
  } catch {
    // Browsers that block storage throw when it's read.
    throw new ConfigError("BrowserLogin: the page may not use sessionStorage, which keeps a login until its callback");
  }
  throw new ConfigError(
    "BrowserLogin: there is no page here (location, history, sessionStorage). Servers use ServerLogin.",
  );
}

/**
 * The parameters of a callback, where the page was opened by one. At the redirect URI, any state and outcome are one; elsewhere, where a
 * server may have sent the user on from there, only those of the login that began here.
 */
export function callbackOf(
  { location }: BrowserPage,
  redirectUri: string,
  begun: string | undefined,
): URLSearchParams | undefined {
  const { origin, pathname, searchParams } = new URL(location.href);
  if (!searchParams.has("state") || !(searchParams.has("code") || searchParams.has("error"))) return undefined;
  return origin + pathname === redirectUri || searchParams.get("state") === begun ? searchParams : undefined;
}

/** Takes the callback out of the address, so that it gets into no history, bookmark or `Referer`. */
export function cleanAddress({ location, history }: BrowserPage): void {
  const url = new URL(location.href);
  for (const name of callbackParameters) url.searchParams.delete(name);
  history.replaceState(history.state, "", url.href);
}

const callbackParameters = ["state", "code", "iss", "session_state", "error", "error_description", "error_uri"];

/** A browser can show a page again as it was left. It would then wait for ever for its login. */
export function reloadWhenShownAgain({ location }: BrowserPage): void {
  const listen: unknown = Reflect.get(globalThis, "addEventListener");
  if (typeof listen !== "function") return;
  listen.call(globalThis, "pageshow", ({ persisted }: { readonly persisted?: boolean }) => {
    if (persisted === true) location.reload();
  });
}
