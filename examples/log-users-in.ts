/**
 * How the users of a server log in: the authorization code grant, with Fastify and sessions in `login/teller-app.ts`. As it is, the
 * identity provider is the sandbox, and the browser is a few lines at the end of this file.
 */
import { MemoryTokenStore, ServerLogin } from "cross-border-payments";
import { tellerApp } from "./login/teller-app.js";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
const { sandbox, authUrl, baseUrl } = practice.server;

const { realm, clientId, clientSecret } = sandbox.credentials;
await using login = new ServerLogin({
  authUrl,
  realm,
  clientId,
  clientSecret,
  redirectUri: "http://127.0.0.1:8080/callback",
  // For several processes: a RedisTokenStore or a PostgresTokenStore.
  tokenStore: new MemoryTokenStore(),
});
const app = tellerApp(login, baseUrl);

let cookie = "";

/** A request of the user's browser, as far as the server sees it. */
async function visit(url: string, method: "GET" | "POST" = "GET") {
  const response = await app.inject({ method, url, headers: { cookie } });
  cookie = String(response.headers["set-cookie"] ?? cookie).split(";", 1)[0] ?? "";
  return { status: response.statusCode, location: response.headers.location ?? "", body: response.body };
}

/** The login page, whose one button the user presses. */
async function logIn(): Promise<string> {
  const page = await fetch((await visit("/login")).location, { method: "POST", redirect: "manual" });
  const { pathname, search } = new URL(page.headers.get("location") ?? "");
  return pathname + search;
}

console.log(`nobody is logged in: sent to ${(await visit("/payments")).location}`);
const callback = await logIn();
console.log(`the login leads to ${(await visit(callback)).location}`);
console.log(`logged in: ${(await visit("/payments")).body}`);
console.log(`the same callback again: ${(await visit(callback)).body}`);

sandbox.revokeTokens("all");
console.log(`an administrator ended the session: sent to ${(await visit("/payments")).location}`);
await visit(await logIn());
console.log(`after a new login: ${(await visit("/payments")).status}`);

await visit("/logout", "POST");
console.log(`logged out: sent to ${(await visit("/payments")).location}`);
await app.close();
