import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  assertAuthOptions,
  authorizationAddress,
  logoutAddress,
  type PasswordAuth,
  tokenEndpointAddress,
} from "../../src/auth/auth-options.js";
import { tokenSourceKey } from "../../src/auth/token-source.js";
import { ConfigError } from "../../src/errors/errors.js";

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
    assertAuthOptions(auth);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("the options were taken");
}

it("takes the password grant with a secret, with an empty one and without one", () => {
  const { clientSecret: _, ...without } = complete;
  for (const auth of [complete, without, { ...complete, clientSecret: "" }, { ...complete, clientSecret: undefined }]) {
    expect(() => assertAuthOptions(auth)).not.toThrow();
  }
});

it.each<object>([
  { ...complete, password: (): string => "p", clientSecret: async (): Promise<string> => "s" },
  { ...complete, clientAuthentication: "post" },
  { ...complete, clientAuthentication: "basic", endSessionOnClose: true },
  { ...complete, clientAuthentication: undefined, endSessionOnClose: undefined },
  { authUrl: "https://id.example", realm: "r", clientId: "c", refreshToken: "t" },
  { authUrl: "https://id.example", realm: "r", clientId: "c", clientSecret: "s", refreshToken: "t" },
])("takes the options of case %#", (auth) => {
  expect(() => assertAuthOptions(auth)).not.toThrow();
});

it("takes the caller's own token source", () => {
  expect(() => assertAuthOptions({ accessToken: () => "token" })).not.toThrow();
});

it("takes a user who has logged in, of any copy of the package", () => {
  const user = { [tokenSourceKey]: () => undefined, logout: async () => {} };
  expect(() => assertAuthOptions(user)).not.toThrow();
});

it.each([
  [undefined, "auth is undefined"],
  [null, "auth is null"],
  ["canary", "auth is a string"],
  [[], "auth is an array"],
  [{}, "auth.authUrl is undefined"],
  [{ ...complete, authUrl: "http://id.example" }, "auth.authUrl is an http address of a host other than this machine"],
  [{ ...complete, authUrl: "https://canary:canary@id.example" }, "auth.authUrl is an address with a user name"],
  ...[
    "https://id.example/auth/realms/canary",
    "https://id.example/auth/realms/canary/",
    "https://id.example/sso/auth/realms/canary/protocol/openid-connect/token",
    "https://id.example/realms/canary",
    "https://id.example/auth/realms",
  ].map((authUrl): [object, string] => [
    { ...complete, authUrl },
    "auth.authUrl is the address of a realm (…/realms/…); wanted: only what stands before /auth/realms",
  ]),
  [{ ...complete, authUrl: "https://id.example/?canary" }, "auth.authUrl is an address with a query"],
  [{ ...complete, realm: "" }, "auth.realm is an empty string; wanted: a string that is not empty"],
  [{ ...complete, realm: "." }, 'auth.realm is "."'],
  [{ ...complete, realm: ".." }, 'auth.realm is ".."'],
  [{ ...complete, realm: "\ud800" }, "auth.realm holds half of a surrogate pair"],
  [{ ...complete, clientId: 7 }, "auth.clientId is a number"],
  [{ ...complete, clientId: "" }, "auth.clientId is an empty string"],
  [{ ...complete, clientSecret: null }, "auth.clientSecret is null"],
  [{ ...complete, clientSecret: ["canary"] }, "auth.clientSecret is an array"],
  [{ ...complete, username: undefined }, "auth.username is undefined"],
  [
    { ...complete, password: "" },
    "auth.password is an empty string; wanted: a string that is not empty, or a function that returns one",
  ],
  [{ ...complete, password: 123456 }, "auth.password is a number"],
  [{ ...complete, password: "canary\udc00" }, "auth.password holds half of a surrogate pair"],
  [{ ...complete, clientAuthentication: "jwt" }, 'auth.clientAuthentication is a string; wanted: "post" or "basic"'],
  [
    { ...complete, clientAuthentication: "basic", clientSecret: "" },
    'auth.clientAuthentication is "basic", which needs a clientSecret',
  ],
  [{ ...complete, endSessionOnClose: "yes" }, "auth.endSessionOnClose is a string; wanted: true or false"],
  [{ ...complete, refreshToken: "canary" }, "there is no option auth.username"],
  [
    { authUrl: "https://id.example", realm: "r", clientId: "c", refreshToken: "" },
    "auth.refreshToken is an empty string",
  ],
  [
    { authUrl: "https://id.example", realm: "r", clientId: "c", refreshToken: () => "canary" },
    "auth.refreshToken is a function",
  ],
  [{ ...complete, passwort: "canary" }, "there is no option auth.passwort; the options are authUrl, realm"],
  [{ ...complete, "canary canary": 1 }, "there is no option auth.(unprintable); the options are"],
  [{ accessToken: "canary" }, "auth.accessToken is a string; wanted: a function that returns a token"],
  [{ accessToken: undefined, ...complete }, "auth.accessToken is undefined"],
  [{ accessToken: () => "token", ...complete }, "there is no option auth.authUrl next to accessToken"],
])("refuses the options of case %#, naming what is wrong and no secret", (auth, why) => {
  const error = refusal(auth);
  expect(error.message).toContain(why);
  expect(`${inspect(error, { showHidden: true })}${JSON.stringify(error)}`).not.toMatch(/canary|123456/);
});

it("names every form of the options where there is none", () => {
  for (const name of ["authUrl", "realm", "clientId", "password", "refreshToken", "accessToken", "BrowserLogin"]) {
    expect(refusal(undefined).message).toContain(name);
  }
});

it("joins the address of the token endpoint by hand, so that a base path stays", () => {
  // Whether http is allowed has been decided by then.
  expect(tokenEndpointAddress({ ...complete, authUrl: "http://id.example" }).origin).toBe("http://id.example");
  expect(() => tokenEndpointAddress({ ...complete, authUrl: "id.example" })).toThrow(
    "auth.authUrl is text that is not",
  );
  expect(tokenEndpointAddress({ ...complete, authUrl: "https://id.example:8443/sso/v2/" })).toEqual({
    origin: "https://id.example:8443",
    path: "/sso/v2/auth/realms/payments/protocol/openid-connect/token",
  });
});

it("has the login page and the end of a session beside the token endpoint", () => {
  const provider = { ...complete, authUrl: "https://id.example/sso" };
  const beside = "/sso/auth/realms/payments/protocol/openid-connect";
  expect(authorizationAddress(provider)).toEqual({ origin: "https://id.example", path: `${beside}/auth` });
  expect(logoutAddress(provider)).toEqual({ origin: "https://id.example", path: `${beside}/logout` });
});

it("writes the realm as one segment of the path", () => {
  const { origin, path } = tokenEndpointAddress({ ...complete, realm: "a/b?c#d e%2f" });
  expect(path).toBe("/auth/realms/a%2Fb%3Fc%23d%20e%252f/protocol/openid-connect/token");
  expect(new URL(origin + path).pathname).toBe(path);
});
