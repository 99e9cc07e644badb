import { ConfigError } from "../core/errors.js";

export interface BrowserPage {
  readonly location: { readonly href: string; assign(url: string): void; reload(): void };
  readonly history: { readonly state: unknown; replaceState(state: unknown, unused: string, url: string): void };
  readonly sessionStorage: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
  addEventListener(type: "pageshow", listener: (event: { readonly persisted: boolean }) => void): void;
}

/**
 * The page that runs this.
 *
 * @throws {ConfigError} if there is none.
 */
export function currentPage(): BrowserPage {
  const page = globalThis as unknown as Partial<BrowserPage>;
  if (page.location && page.history && page.sessionStorage) return page as BrowserPage;
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

/** A browser can show a page again as it was left. It would then wait forever for its login. */
export function reloadWhenShownAgain(page: BrowserPage): void {
  page.addEventListener("pageshow", ({ persisted }) => {
    if (persisted) page.location.reload();
  });
}
