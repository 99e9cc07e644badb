import { type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";

export interface Page {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly location: string | undefined;
  readonly body: string;
}

/** Where a process listens. */
export interface Address {
  readonly port: number;
}

/** A browser, which a balancer leads to the process that each request names. It keeps the cookie, and follows no redirect. */
export class Browser {
  readonly #origin: string;
  cookie = "";

  constructor(origin: string) {
    this.#origin = origin;
  }

  get(address: Address, path: string): Promise<Page> {
    return this.#ask(address, path, "GET", {});
  }

  post(address: Address, path: string, form: Readonly<Record<string, string>>, headers: object = {}): Promise<Page> {
    const own = { origin: this.#origin, "content-type": "application/x-www-form-urlencoded", ...headers };
    return this.#ask(address, path, "POST", own, String(new URLSearchParams(form)));
  }

  /** Fills in the form of a page, and sends it. */
  submit(address: Address, page: Page, action: string, fields: Readonly<Record<string, string>> = {}): Promise<Page> {
    return this.post(address, action, { ...hiddenFields(page, action), ...fields });
  }

  #ask({ port }: Address, path: string, method: string, headers: object, body?: string): Promise<Page> {
    const own = { host: new URL(this.#origin).host, cookie: this.cookie, ...headers };
    return new Promise((resolve, reject) => {
      const outgoing = request({ host: "127.0.0.1", port, path, method, headers: own, agent: false }, (incoming) => {
        const { statusCode: status = 0, headers: received } = incoming;
        const [cookie] = received["set-cookie"] ?? [];
        if (cookie !== undefined) this.cookie = cookie.split(";")[0] ?? "";
        text(incoming).then(
          (page) => resolve({ status, headers: received, location: received.location, body: page }),
          reject,
        );
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }
}

/** Of the form that leads to an address, or of the desk's form for a task. */
export function hiddenFields({ body }: Page, action: string, task?: string): Record<string, string> {
  const forms = [...body.matchAll(/<form method="post"(?: action="([^"]*)")?>(.*?)<\/form>/gs)];
  const form = forms.find(
    ([, leadsTo, fields = ""]) =>
      (leadsTo ?? action) === action && (task === undefined || fields.includes(`name="do" value="${task}"`)),
  );
  if (form === undefined) throw new Error(`there is no form ${task ?? action} in ${body}`);
  const fields = [...(form[2] ?? "").matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
  return Object.fromEntries(fields.map(([, name = "", value = ""]) => [name, value]));
}
