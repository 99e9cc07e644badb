/** A browser as far as a login needs one: it keeps cookies, and sends forms. */
export class UserAgent {
  readonly #cookies = new Map<string, string>();
  #at: string | undefined;

  /** Follows a login address to its page, and from there back to the application. */
  async logIn(address: string, fields: Readonly<Record<string, string>>): Promise<URL> {
    const page = await this.#request(address, {});
    // Keycloak's cookie spares the user the form.
    if (page.location !== undefined) return new URL(page.location);
    const action = /<form[^>]*\saction="([^"]+)"/.exec(page.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const hidden = [...page.html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const form = { ...Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value])), ...fields };
    const { location } = await this.#request(action, { method: "POST", body: new URLSearchParams(form) });
    if (location === undefined) throw new Error("the form led nowhere");
    return new URL(location);
  }

  async #request(target: string, init: RequestInit) {
    const address = new URL(target, this.#at).href;
    this.#at = address;
    const cookie = [...this.#cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(address, { ...init, headers: { cookie }, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    return { html: await response.text(), location: response.headers.get("location") ?? undefined };
  }
}
