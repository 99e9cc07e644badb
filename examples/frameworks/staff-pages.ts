import { createHmac, scryptSync, timingSafeEqual } from "node:crypto";
import { operatorDesk } from "cross-border-payments/desk";
import type { PaymentFlow } from "cross-border-payments/flow";
import { setting } from "./setting.ts";

/** Functions of web-standard requests, which any framework can mount. */
export interface StaffPages {
  readonly login: (request: Request) => Promise<Response>;
  readonly desk: (request: Request) => Promise<Response>;
}

const sessionMs = 3_600_000;

/**
 * The operators' desk, and the login before it. The login stands in for the bank's own: what the desk needs of it is the name of who makes a
 * request.
 *
 * `STAFF` has a name, a salt and the hash of a password (scrypt) for each person: `olga:SALT:HASH,petra:SALT:HASH`.
 */
export function staffPages(flow: PaymentFlow): StaffPages {
  // As browsers have it, whatever proxies stand between: `https://payments.bank.example`.
  const origin = setting("STAFF_ORIGIN");
  // The same in all processes.
  const secret = setting("STAFF_SECRET");
  const people = new Map(
    setting("STAFF")
      .split(",")
      .map((person) => {
        const [name = "", salt = "", hash = ""] = person.split(":");
        return [name, { salt, hash: Buffer.from(hash, "hex") }];
      }),
  );

  const sign = (text: string) => createHmac("sha256", secret).update(`staff ${text}`).digest();

  function cookieFor(name: string): string {
    const session = `${encodeURIComponent(name)}.${Date.now() + sessionMs}`;
    const secure = origin.startsWith("https:") ? "; Secure" : "";
    return `staff=${session}.${sign(session).toString("hex")}; Path=/; HttpOnly; SameSite=Lax${secure}`;
  }

  function userOf({ headers }: Request): { name: string } | null {
    const [, session = "", name = "", untilMs = "", signature = ""] =
      /(?:^|; )staff=(([^.;]+)\.(\d+))\.([0-9a-f]{64})(?:;|$)/.exec(headers.get("cookie") ?? "") ?? [];
    if (!isSame(Buffer.from(signature, "hex"), sign(session)) || Number(untilMs) < Date.now()) return null;
    return { name: decodeURIComponent(name) };
  }

  const desk = operatorDesk({
    flow,
    origin,
    csrfSecret: secret,
    authenticate: userOf,
    on: {
      shown: (event) => console.info("accounts shown:", JSON.stringify(event)),
      error: (error) => console.error("the desk:", error),
    },
  });

  return {
    async login(request) {
      if (request.method !== "POST") return loginPage(200);
      if (request.headers.get("origin") !== origin) return loginPage(403);
      const form = new URLSearchParams(await request.text());
      const name = form.get("name") ?? "";
      const { salt, hash } = people.get(name) ?? { salt: "", hash: Buffer.alloc(0) };
      // Unknown names take as long as known ones.
      const isRight = isSame(scryptSync(form.get("password") ?? "", salt, 32), hash);
      if (!isRight) return loginPage(401);
      return new Response(null, { status: 303, headers: { location: "/desk", "set-cookie": cookieFor(name) } });
    },
    async desk(request) {
      const response = await desk(request);
      if (response.status !== 401 || request.method !== "GET") return response;
      return new Response(null, { status: 303, headers: { location: "/login" } });
    },
  };
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function loginPage(status: number): Response {
  const page = `<!doctype html><html lang="en"><title>Login</title><form method="post">
<label>Name <input name="name" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Log in</button></form></html>`;
  return new Response(page, { status, headers: { "content-type": "text/html; charset=utf-8" } });
}
