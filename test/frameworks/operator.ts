import { randomBytes, scryptSync } from "node:crypto";
import { type Address, Browser, hiddenFields, type Page } from "../support/form-browser.js";

/** Where the desk is for browsers: before the back end is a proxy that takes off TLS. */
export const staffOrigin = "https://payments.bank.example";

/** The settings of the login, for people whose passwords are `PASSWORD of NAME`. */
export function staffSettings(...names: readonly string[]): Readonly<Record<string, string>> {
  const people = names.map((name) => {
    const salt = randomBytes(8).toString("hex");
    return `${name}:${salt}:${scryptSync(passwordOf(name), salt, 32).toString("hex")}`;
  });
  return { STAFF_ORIGIN: staffOrigin, STAFF_SECRET: randomBytes(32).toString("hex"), STAFF: people.join(",") };
}

export const passwordOf = (name: string): string => `password of ${name}`;

/** A person at a browser. */
export class Operator {
  readonly #browser = new Browser(staffOrigin);
  readonly #address: Address;

  /** @param url where the back end listens. */
  constructor(url: string) {
    this.#address = { port: Number(new URL(url).port) };
  }

  login(name: string, password = passwordOf(name)): Promise<Page> {
    return this.ask("/login", { name, password });
  }

  /** Gets a page, or sends a form. */
  ask(path: string, form?: Readonly<Record<string, string>>, origin = staffOrigin): Promise<Page> {
    return form === undefined
      ? this.#browser.get(this.#address, path)
      : this.#browser.post(this.#address, path, form, { origin });
  }

  /** Fills in the form for a task on the flow's page, sends it, and follows the redirect. */
  async decide(key: string, task: string, fields: Readonly<Record<string, string>>): Promise<Page> {
    const target = `/desk?flow=${encodeURIComponent(key)}`;
    const sent = await this.ask(target, { ...hiddenFields(await this.ask(target), target, task), ...fields });
    if (sent.status !== 303 || sent.location === undefined) return sent;
    const { pathname, search } = new URL(sent.location, staffOrigin + target);
    return this.ask(pathname + search);
  }
}
