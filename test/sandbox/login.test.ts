import { createHash, createPublicKey, createVerify, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { createSandbox, type Sandbox } from "../../src/sandbox/index.js";
import { withOneTokenKey } from "../support/one-token-key.js";
import { askToken, refresh, responseOf } from "./sandbox-fixture.js";

withOneTokenKey();

const identityHost = "https://identity.test";
const redirectUri = "https://bank.test/callback";

/** A login as an application makes it, by hand: the package's own is not to be checked with itself. */
function loginRequest(sandbox: Sandbox, changes: Readonly<Record<string, string | undefined>> = {}) {
  const verifier = randomBytes(32).toString("base64url");
  const fields: Record<string, string | undefined> = {
    ...{ response_type: "code", client_id: sandbox.credentials.clientId, redirect_uri: redirectUri, scope: "openid" },
    ...{ state: randomBytes(8).toString("hex"), nonce: randomBytes(8).toString("hex") },
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...changes,
  };
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  const url = `${identityHost}${sandbox.authorizationPath}?${new URLSearchParams(given)}`;
  return { url, verifier, state: fields.state };
}

/** Presses the button of a login. Returns what asks for the tokens of its code. */
async function pressButton(sandbox: Sandbox) {
  const { url, verifier: code_verifier } = loginRequest(sandbox);
  const { headers } = await sandbox.fetch(url, { method: "POST" });
  const code = new URL(headers.get("location") ?? "").searchParams.get("code") ?? "";
  const { clientId: client_id } = sandbox.credentials;
  const fields = { grant_type: "authorization_code", client_id, redirect_uri: redirectUri, code, code_verifier };
  return (changes: Readonly<Record<string, string>> = {}) => askToken(sandbox, { ...fields, ...changes });
}

async function logIn(sandbox: Sandbox) {
  const redeem = await pressButton(sandbox);
  return (await redeem()).body;
}

const refused = { status: 400, body: { error: "invalid_grant" } };

it("shows a page with one button, which says whose login it is", async () => {
  const sandbox = createSandbox({ credentials: { clientId: "the <bank>", username: `o'brien & "co"` } });
  const page = await sandbox.fetch(loginRequest(sandbox).url);
  const html = await page.text();
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(html.match(/<button/g)).toHaveLength(1);
  expect(html).toContain("the &lt;bank&gt; wants to act for you");
  expect(html).toContain("Log in as o&#39;brien &amp; &quot;co&quot;");
  const href = /<a href="([^"]+)">Refuse/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
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

it("takes a code once", async () => {
  const redeem = await pressButton(createSandbox());
  expect(await redeem()).toMatchObject({ status: 200 });
  expect(await redeem()).toMatchObject(refused);
});

it.each([
  ["another verifier", { code_verifier: randomBytes(32).toString("base64url") }],
  ["no verifier", { code_verifier: "" }],
  ["another address", { redirect_uri: "https://other.test/callback" }],
])("gives no tokens for %s, and the code is used up", async (_, changes) => {
  const redeem = await pressButton(createSandbox());
  for (const given of [changes, {}]) expect(await redeem(given)).toMatchObject(refused);
});

it("ends a code after a minute", async () => {
  let nowMs = 1_000_000;
  const redeem = await pressButton(createSandbox({ now: () => nowMs }));
  nowMs += 60_000;
  expect(await redeem()).toMatchObject(refused);
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
