import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  endpointAddress,
  type PasswordAuth,
  parseAuthOptions,
  parseAuthUrl,
  tokenLeewayOption,
} from "../../src/auth/auth-options.js";
import { isTokenStore } from "../../src/auth/token-store.js";
import { ConfigError } from "../../src/core/errors.js";
import { tokenSourceKey } from "../../src/http/token-source.js";
import { MemoryTokenStore } from "../../src/tokens/memory-token-store.js";

const complete: PasswordAuth = {
  authUrl: "https://id.example",
  realm: "payments",
  clientId: "gateway",
  clientSecret: "canary-secret",
  username: "canary-user",
  password: "canary-password",
};

function refusal(auth: unknown): ConfigError {
  try {
    parseAuthOptions(auth);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("the options were taken");
}

it.each<object>([
  { ...complete, password: (): string => "p", clientSecret: async (): Promise<string> => "s" },
  { ...complete, clientAuthentication: "basic", endSessionOnClose: true },
  { ...complete, clientAuthentication: "post", timeoutMs: 1 },
  { ...complete, clientAuthentication: undefined, endSessionOnClose: undefined, timeoutMs: 2 ** 31 - 1 },
  { authUrl: "https://id.example", realm: "r", clientId: "c", clientSecret: "s", refreshToken: "t" },
])("takes the options of case %#", (auth) => {
  expect(() => parseAuthOptions(auth)).not.toThrow();
});

/** As configurations of frameworks are. */
class Configured {
  readonly #secret = "canary-secret";
  readonly authUrl = "https://id.example";
  readonly realm = "payments";
  readonly clientId = "gateway";
  get username(): string {
    return "canary-user";
  }
  password(): string {
    return this.#secret;
  }
}

it("copies what an instance of a class gives by its getters, and calls its methods as its own", () => {
  const { username, password } = parseAuthOptions(new Configured()) as PasswordAuth;
  expect([username, typeof password === "function" && password()]).toEqual(["canary-user", "canary-secret"]);
});

it.each([
  [undefined, "got undefined"],
  [null, "got null"],
  ["canary", "got a string"],
  [{}, "auth: authUrl must be an address such as https://host; got undefined"],
  [{ ...complete, authUrl: "http://id.example" }, "auth: authUrl is an http address of a host other than this machine"],
  [{ ...complete, authUrl: "https://canary:canary@id.example" }, "auth: authUrl is an address with a user name"],
  ...[
    ["https://id.example/auth", "/auth"],
    ["https://id.example/sso/auth/realms/canary/protocol/openid-connect/token", "/auth/realms/…"],
    ["https://id.example/auth/realms", "/auth/realms/…"],
    ["https://id.example/realms/canary", "/realms/…"],
  ].map(([authUrl, found]): [object, string] => [
    { ...complete, authUrl },
    `auth: authUrl ends in ${found}. Remove that part: the client adds /auth/realms/NAME itself, with the name from realm`,
  ]),
  [{ ...complete, authUrl: "https://id.example/?canary" }, "auth: authUrl is an address with a query"],
  [{ ...complete, realm: "" }, "auth: realm is an empty string. Is the environment variable set?"],
  [{ ...complete, clientId: 7 }, /^auth: clientId must be .*; got 7$/],
  [{ ...complete, clientSecret: null }, /^auth: clientSecret must be .*; got null$/],
  [{ ...complete, username: undefined }, "auth: username is undefined. Is the environment variable set?"],
  [{ ...complete, password: "" }, "auth: password is an empty string. Is the environment variable set?"],
  [{ ...complete, password: 123456 }, /^auth: password must be .*; got a number$/],
  [{ ...complete, password: "canary\n" }, "auth: password contains a line break. Trim"],
  [{ ...complete, clientAuthentication: "jwt" }, 'auth: clientAuthentication must be "post" or "basic"; got a string'],
  ...["", undefined].map((clientSecret): [object, string] => [
    { ...complete, clientAuthentication: "basic", clientSecret },
    'auth: clientAuthentication is "basic", which needs a clientSecret',
  ]),
  ...[0, 2 ** 31, "7", Number.NaN].map((timeoutMs): [object, string] => [
    { ...complete, timeoutMs },
    "auth: timeoutMs must be a number of milliseconds above 0 and up to 2147483647",
  ]),
  [{ ...complete, refreshToken: "canary" }, 'auth: unknown option "username"'],
  [
    { authUrl: "https://id.example", realm: "r", clientId: "c", refreshToken: "" },
    "auth: refreshToken is an empty string. Is the environment variable set?",
  ],
  [
    { authUrl: "https://id.example", realm: "r", clientId: "c", refreshToken: () => "canary" },
    /^auth: refreshToken must be .*; got a function$/,
  ],
  [{ ...complete, passwort: "canary" }, 'auth: unknown option "passwort". Did you mean "password"?'],
  [{ ...complete, "canary canary": 1 }, "auth: unknown option of a name of 13 characters; the options are"],
  [{ accessToken: "canary" }, "auth: accessToken must be a function that returns a token; got a string"],
  [{ accessToken: undefined, ...complete }, "accessToken stands alone"],
  [
    { accessToken: () => "token", ...complete },
    'auth: unknown option "authUrl"; the options are accessToken (accessToken stands alone)',
  ],
])("refuses the options of case %#, naming what is wrong and no secret", (auth, why) => {
  const error = refusal(auth);
  expect(error.message).toMatch(why);
  expect(`${inspect(error, { showHidden: true })}${JSON.stringify(error)}`).not.toMatch(/canary|123456/);
});

it("joins the address of the token endpoint by hand, so that a base path stays", () => {
  // Whether http is allowed has been decided by then.
  expect(endpointAddress({ ...complete, authUrl: "http://id.example" }, "token").origin).toBe("http://id.example");
  expect(() => endpointAddress({ ...complete, authUrl: "id.example" }, "token")).toThrow(
    "auth.authUrl is text that is not",
  );
  expect(endpointAddress({ ...complete, authUrl: "https://id.example:8443/sso/v2/" }, "token")).toEqual({
    origin: "https://id.example:8443",
    path: "/sso/v2/auth/realms/payments/protocol/openid-connect/token",
  });
});

it("writes the realm as one segment of the path", () => {
  const { origin, path } = endpointAddress({ ...complete, realm: "a/b?c#d e%2f" }, "token");
  expect(path).toBe("/auth/realms/a%2Fb%3Fc%23d%20e%252f/protocol/openid-connect/token");
  expect(new URL(origin + path).pathname).toBe(path);
});

it("takes a login of a user as it is, http only if it's allowed, and a leeway of 0 or more", () => {
  const user = { [tokenSourceKey]: () => {}, logout: async () => {} };
  expect(parseAuthOptions(user)).toBe(user);
  expect(() => parseAuthUrl("http://id.example", "authUrl")).toThrow(ConfigError);
  expect([0, 0.5, -1, "1", Number.NaN].map(tokenLeewayOption.accepts)).toEqual([true, true, false, false, false]);
});

it.each(["read", "lock", "unlock", "write"])("takes no store without %s", (method) => {
  const store = new MemoryTokenStore();
  expect([isTokenStore(store), isTokenStore(undefined)]).toEqual([true, false]);
  expect(isTokenStore(Object.assign(store, { [method]: undefined }))).toBe(false);
});
