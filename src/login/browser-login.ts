import type { UserAuth } from "../auth/auth-options.js";
import type { LoginChecks, UserClaims } from "../auth/openid-grant.js";
import { ConfigError } from "../core/errors.js";
import { type OpenTokenSource, tokenSourceKey } from "../http/token-source.js";
import { fetchTransport } from "../wire/fetch.js";
import type { Transport } from "../wire/transport.js";
import {
  Authorization,
  type LoginOptions,
  type LoginSettings,
  loginOptions,
  readPending,
  resolveLogin,
} from "./authorization.js";
import { UserTokens } from "./user-tokens.js";

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
 * The parameters of the callback that opened the page, if one did. At the redirect URI, any state counts. A server may have redirected
 * the user from there to another address, which counts only for the login that began here.
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

/** Removes the callback from the address, so that no history, bookmark, or `Referer` contains it. */
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

/**
 * Logs the user of a page in, by the authorization code grant with PKCE. Pass it to a client as `auth`. Tokens stay in memory, and each
 * tab has its own. After a reload, or in another tab, `redirect` gets new ones. The user sees no form while the identity provider
 * remembers them.
 *
 * @example
 * const login = new BrowserLogin({ authUrl, realm, clientId, redirectUri });
 * const client = new CrossBorderClient({ baseUrl, auth: login });
 * if (!(await login.resume())) await login.redirect();
 */
export class BrowserLogin implements UserAuth {
  /** @internal */
  declare readonly [tokenSourceKey]: OpenTokenSource;
  readonly #settings: LoginSettings;
  readonly #transport: Transport;
  readonly #authorization: Authorization;
  readonly #tokens = new UserTokens();
  #claims: UserClaims | undefined;
  #resuming: Promise<boolean> | undefined;
  #ending: Promise<void> | undefined;

  /** @throws {ConfigError} that names the option, what it must be, and what was given. */
  constructor(options: LoginOptions) {
    this.#settings = resolveLogin("BrowserLogin", browserLoginOptions, options).settings;
    // Looked up with each request, since tests of pages in Node replace it.
    this.#transport = fetchTransport((url, init) => globalThis.fetch(url, init));
    this.#authorization = new Authorization(this.#settings, this.#transport);
    Object.defineProperty(this, tokenSourceKey, { value: this.#tokens.source });
  }

  /** The claims of the user's ID token. Undefined if no user is logged in, or if the session is known to have ended. */
  get claims(): UserClaims | undefined {
    return this.#tokens.isOpen ? this.#claims : undefined;
  }

  /**
   * Whether a user is logged in. If the login page has led back here, it finishes that login first, and removes the callback from the
   * address.
   *
   * @throws {TokenError} `login_state_mismatch`, `login_code_refused`, `login_issuer_mismatch`, `login_denied`, `login_failed`,
   *   `login_unverified`, `login_refused`, or the error of a failed token request. Then nothing is stored.
   */
  resume(): Promise<boolean> {
    this.#resuming ??= this.#resume().finally(() => {
      this.#resuming = undefined;
    });
    return this.#resuming;
  }

  /**
   * Goes to the login page, which leads back to `redirectUri`. The promise stays pending, since the browser leaves the page.
   *
   * @throws {ConfigError} if this isn't a page that was loaded over https.
   */
  async redirect(): Promise<never> {
    const page = currentPage();
    // Leaving the page would abort the logout, and the session would continue.
    await this.#ending?.catch(() => {});
    const { url, checks } = await this.#authorization.begin();
    page.sessionStorage.setItem(this.#storageKey, JSON.stringify(checks));
    reloadWhenShownAgain(page);
    page.location.assign(url);
    return new Promise<never>(() => {});
  }

  /**
   * Forgets the tokens, and ends the session at the identity provider, also for the user's other tabs. If `resume` is finishing a login,
   * it waits for that, and ends its session.
   *
   * @throws {TokenError} if the client can't tell whether the session has ended. Then call it again. It also throws an error of a
   *   `resume` that is under way.
   */
  logout(): Promise<void> {
    this.#ending = Promise.resolve(this.#resuming).then(() => this.#authorization.end(this.#tokens));
    return this.#ending;
  }

  async #resume(): Promise<boolean> {
    const page = currentPage();
    const checks = this.#takeKept(page);
    const callback = callbackOf(page, this.#settings.redirectUri, checks?.state);
    if (callback === undefined) return this.#tokens.isOpen;
    cleanAddress(page);
    const { granted, refreshToken, claims } = await this.#authorization.finish(callback, checks);
    const auth = { ...this.#settings.auth, refreshToken };
    await this.#tokens.open({ auth, transport: this.#transport }).begin(granted);
    this.#claims = claims;
    return true;
  }

  /** It's for one callback, and useless if the user comes back without one. */
  #takeKept({ sessionStorage }: BrowserPage): LoginChecks | undefined {
    const kept = sessionStorage.getItem(this.#storageKey);
    sessionStorage.removeItem(this.#storageKey);
    return kept === null ? undefined : readPending(kept);
  }

  /** Two applications of one origin don't take each other's logins. */
  get #storageKey(): string {
    const { issuer, auth } = this.#settings;
    return `cross-border-payments.login ${issuer} ${auth.clientId}`;
  }
}

const noSecret = {
  accepts: () => false,
  expected: "left out in a page, which can't keep a secret: register a public client",
};

export const browserLoginOptions = { ...loginOptions, clientSecret: noSecret, clientAuthentication: noSecret };
