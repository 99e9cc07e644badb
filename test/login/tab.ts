import { vi } from "vitest";

type OnShown = (event: { readonly persisted: boolean }) => void;

/** A tab of a browser, as far as a login looks at it. The tab that was made or shown last is the one that code runs in. */
export class Tab {
  readonly stored = new Map<string, string>();
  href: string;
  /** Where the page has gone to. */
  #left: ((url: string) => void) | undefined;
  #shown: OnShown | undefined;
  reloads = 0;

  constructor(href: string) {
    this.href = href;
    this.show();
  }

  show(): void {
    const tab = this;
    vi.stubGlobal("location", {
      get href() {
        return tab.href;
      },
      assign: (url: string) => tab.#left?.(url),
      reload: () => {
        tab.reloads += 1;
      },
    });
    vi.stubGlobal("addEventListener", (type: string, listener: OnShown) => {
      if (type === "pageshow") tab.#shown = listener;
    });
    vi.stubGlobal("history", {
      state: null,
      replaceState(_state: unknown, _unused: string, url: string) {
        tab.href = url;
      },
    });
    vi.stubGlobal("sessionStorage", {
      getItem: (key: string) => tab.stored.get(key) ?? null,
      setItem: (key: string, value: string) => tab.stored.set(key, value),
      removeItem: (key: string) => tab.stored.delete(key),
    });
  }

  /** The user presses the browser's button for that. */
  goBack(persisted: boolean): void {
    this.#shown?.({ persisted });
  }

  /** Resolves to the address for which the page is left. */
  leaves(): Promise<string> {
    return new Promise((resolve) => {
      this.#left = resolve;
    });
  }
}
