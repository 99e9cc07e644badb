import { randomBytes, scryptSync } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { expect } from "vitest";

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

interface Shown {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Form = Readonly<Record<string, string>>;

/** Somebody at a browser. */
export class Operator {
  readonly #url: string;
  #cookie = "";

  /** @param url where the back end listens. */
  constructor(url: string) {
    this.#url = url;
  }

  async login(name: string, password = passwordOf(name)): Promise<Shown> {
    const shown = await this.ask("/login", { name, password });
    const [cookie = ""] = shown.headers["set-cookie"] ?? [];
    this.#cookie = cookie.split(";")[0] ?? "";
    return shown;
  }

  /** Sends a form where there is one. */
  ask(path: string, form?: Form, origin = staffOrigin): Promise<Shown> {
    const headers = {
      host: new URL(staffOrigin).host,
      cookie: this.#cookie,
      ...(form !== undefined && { origin, "content-type": "application/x-www-form-urlencoded" }),
    };
    const method = form === undefined ? "GET" : "POST";
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(this.#url + path, { method, headers, agent: false }, (incoming) => {
        let body = "";
        incoming.on("data", (data) => {
          body += data;
        });
        incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }));
      });
      outgoing.on("error", reject);
      outgoing.end(form === undefined ? undefined : String(new URLSearchParams(form)));
    });
  }

  /** Sends the form of the flow's page that has these fields, with more, and goes where that leads. */
  async decide(key: string, task: string, fields: Form): Promise<Shown> {
    const target = `/desk?flow=${encodeURIComponent(key)}`;
    const { body } = await this.ask(target);
    const start = body.indexOf(`<input type="hidden" name="do" value="${task}">`);
    expect(start, `the form ${task} in ${body}`).toBeGreaterThan(0);
    const form = body.slice(start, body.indexOf("</form>", start));
    const hidden = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
    const own = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]));
    const sent = await this.ask(target, { ...own, ...fields });
    const { location } = sent.headers;
    if (sent.status !== 303 || location === undefined) return sent;
    const { pathname, search } = new URL(location, staffOrigin + target);
    return this.ask(pathname + search);
  }
}
