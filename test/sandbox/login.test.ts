import { createPublicKey, createVerify, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/index.js";
import { withOneTokenKey } from "../support/one-token-key.js";
import { identityHost, logIn, loginRequest, pressButton, redeem } from "./login-fixture.js";
import { refresh, responseOf } from "./sandbox-fixture.js";

withOneTokenKey();

/** A login whose button was pressed, and how to get the tokens for its code. */
async function pressed(options: SandboxOptions = {}) {
  const sandbox = createSandbox(options);
  const { url, verifier } = loginRequest(sandbox);
  const code = (await pressButton(sandbox, url)).searchParams.get("code") ?? "";
  return { sandbox, redeemed: (changes = {}) => redeem(sandbox, code, verifier, changes) };
}
const refused = { status: 400, body: { error: "invalid_grant" } };

it("shows a page with one button, which says whose login it is", async () => {
  const sandbox = createSandbox({ credentials: { clientId: "the <bank>", username: `o'brien & "co"` } });
  const page = await sandbox.fetch(loginRequest(sandbox).url);
  const html = await page.text();
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(html.match(/<button/g)).toHaveLength(1);
  expect(html).toContain("the &#60;bank&#62; wants to act for you");
  expect(html).toContain("Log in as o&#39;brien &#38; &#34;co&#34;");
  const href = /<a href="([^"]+)">Refuse/.exec(html)?.[1]?.replaceAll("&#38;", "&") ?? "";
  expect(new URL(href).searchParams.get("error")).toBe("access_denied");
});

it("signs ID tokens with the key that it shows", async () => {
  const sandbox = createSandbox();
  const { id_token } = await logIn(sandbox);
  const { keys } = (await responseOf(await sandbox.fetch(identityHost + sandbox.certsPath))).body;
  const [header, claims, signature] = id_token.split(".");
  const { kid, alg } = JSON.parse(Buffer.from(header, "base64url").toString());
  expect([keys[0].kid, keys[0].alg, Object.hasOwn(keys[0], "d")]).toEqual([kid, alg, false]);
  const key = createPublicKey({ key: keys[0], format: "jwk" });
  expect(createVerify("sha256").update(`${header}.${claims}`).verify(key, signature, "base64url")).toBe(true);
  const other = await logIn(createSandbox());
  expect(other.id_token.split(".")[0]).not.toBe(header);
});

it("takes a code once, and ends its session when it comes again", async () => {
  const { sandbox, redeemed } = await pressed();
  const { body } = await redeemed();
  expect(await redeemed()).toMatchObject(refused);
  expect((await refresh(sandbox, body.refresh_token)).status).toBe(400);
});

it.each([
  ["another verifier", { code_verifier: randomBytes(32).toString("base64url") }],
  ["no verifier", { code_verifier: "" }],
  ["another address", { redirect_uri: "https://other.test/callback" }],
])("gives no tokens for %s, and the code is used up", async (_, changes) => {
  const { redeemed } = await pressed();
  for (const given of [changes, {}]) expect(await redeemed(given)).toMatchObject(refused);
});

it("ends a code after a minute", async () => {
  let nowMs = 1_000_000;
  const { redeemed } = await pressed({ now: () => nowMs });
  nowMs += 60_000;
  expect(await redeemed()).toMatchObject(refused);
});

it.each([
  ["another client", { client_id: "another" }],
  ["no address", { redirect_uri: undefined }],
  ["an address that is a script", { redirect_uri: "javascript:alert(1)" }],
  ["an address with a fragment", { redirect_uri: "https://bank.test/#callback" }],
])("leads nowhere for %s", async (_, changes) => {
  const sandbox = createSandbox();
  const response = await sandbox.fetch(loginRequest(sandbox, changes).url, { method: "POST" });
  expect([response.status, response.headers.get("location")]).toEqual([400, null]);
});

it.each([
  ["another response type", { response_type: "token" }, "unsupported_response_type"],
  ["no challenge", { code_challenge: undefined }, "invalid_request"],
  ["a challenge that shows the verifier", { code_challenge_method: "plain" }, "invalid_request"],
  ["a login without the page", { prompt: "none" }, "login_required"],
])("leads back with an error for %s", async (_, changes, error) => {
  const sandbox = createSandbox();
  const { url, state } = loginRequest(sandbox, changes);
  const response = await sandbox.fetch(url, { redirect: "manual" });
  const callback = new URL(response.headers.get("location") ?? "");
  expect(Object.fromEntries(callback.searchParams)).toMatchObject({ error, state, iss: expect.any(String) });
  expect(callback.searchParams.has("code")).toBe(false);
});

it("ends the session of an ID token, and leads where it is asked to", async () => {
  const sandbox = createSandbox();
  const { id_token, refresh_token } = await logIn(sandbox);
  const others = await logIn(sandbox);
  const logOut = (fields: Record<string, string>) =>
    sandbox.fetch(`${identityHost}${sandbox.logoutPath}?${new URLSearchParams(fields)}`, { redirect: "manual" });
  const forged = `${id_token.split(".").slice(0, 2).join(".")}.${randomBytes(256).toString("base64url")}`;
  expect((await logOut({ id_token_hint: forged })).status).toBe(400);
  expect((await logOut({ id_token_hint: id_token, post_logout_redirect_uri: "javascript:alert(1)" })).status).toBe(400);
  expect((await refresh(sandbox, refresh_token)).status).toBe(200);
  const response = await logOut({
    id_token_hint: id_token,
    post_logout_redirect_uri: "https://bank.test/",
    state: "s",
  });
  expect([response.status, response.headers.get("location")]).toEqual([302, "https://bank.test/?state=s"]);
  expect((await refresh(sandbox, refresh_token)).status).toBe(400);
  expect((await refresh(sandbox, others.refresh_token)).status).toBe(200);
  expect(await (await logOut({ id_token_hint: others.id_token })).text()).toContain("Logged out");
  expect(JSON.stringify(sandbox.requests)).not.toContain(id_token);
});
