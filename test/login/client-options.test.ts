import { type ClientOptions, ConfigError, CrossBorderClient, type Logger, ServerLogin } from "cross-border-payments";
import { type SandboxRequest, startSandbox } from "cross-border-payments/sandbox";
import { expect, it, onTestFinished, vi } from "vitest";
import { clientOptions } from "../../src/client-options.js";
import { browserLoginOptions } from "../../src/login/browser-login.js";
import { serverLoginOptions } from "../../src/login/server-login.js";
import { namesReadIn } from "../support/names-read.js";
import { logIn, openLogin } from "./login-fixture.js";

const names = Object.keys(clientOptions) as (keyof ClientOptions)[];
const appInfo = { name: "school-fees", version: "2.4.1" };
const userAgent = expect.stringMatching(/^school-fees\/2\.4\.1 cross-border-payments\/\d+\.\d+\.\d+$/);

/** The options of the client that count for token requests too: of its own login, and of those of users. */
const counting = {
  client: [
    "allowInsecureHttp",
    "appInfo",
    "auth",
    "dispatcher",
    "fetch",
    "logger",
    "maxSockets",
    "on",
    "telemetry",
    "timeoutMs",
    "tls",
    "tokenLeewayMs",
    "tokenStore",
  ],
  ServerLogin: [
    "allowInsecureHttp",
    "appInfo",
    "dispatcher",
    "fetch",
    "timeoutMs",
    "tls",
    "tokenLeewayMs",
    "tokenStore",
  ],
  BrowserLogin: ["allowInsecureHttp", "timeoutMs"],
};

it("says of each of the client's options whether a ServerLogin and a BrowserLogin have it too", () => {
  const of = (table: object) => names.filter((name) => Object.hasOwn(table, name)).sort();
  expect(counting.ServerLogin).toEqual(of(serverLoginOptions));
  expect(counting.BrowserLogin).toEqual(of(browserLoginOptions));
});

it.each([
  ["ServerLogin", serverLoginOptions, "src/login/server-login.ts"],
  ["BrowserLogin", browserLoginOptions, "src/login/browser-login.ts"],
])("uses each option that a %s takes", (_, table, file) => {
  const shared = ["src/login/login-options.ts", "src/auth/auth-options.ts"];
  const read = new Set([file, ...shared].flatMap((each) => [...namesReadIn(each)]));
  expect(Object.keys(table).filter((name) => !read.has(name))).toEqual([]);
});

it("says of each of the client's options whether token requests go by it", () => {
  const read = namesReadIn("src/client.ts", ["createTransport", "createTokens", "reporterOf"]);
  // It is needed where the credentials are checked, before there are any requests.
  const used = names.filter((name) => read.has(name) || name === "allowInsecureHttp");
  expect(counting.client).toEqual(used.sort());
});

async function openClient(options: Partial<ClientOptions>) {
  const seen: SandboxRequest[] = [];
  const server = await startSandbox({ onRequest: (request) => void seen.push(request) });
  const { baseUrl, auth } = server.clientOptions;
  const client = new CrossBorderClient({ baseUrl, auth: { ...auth, endSessionOnClose: true }, ...options });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const headers = (name: string) =>
    seen.map(({ path, headers }) => [path.slice(path.lastIndexOf("/") + 1), headers.get(name)]);
  return { client, headers };
}

it.each<[string, Partial<ClientOptions>]>([
  ["undici", {}],
  ["fetch", { fetch: (url, init) => fetch(url, init) }],
])("names the program in the User-Agent of calls, token requests and the session's end, by %s", async (_, options) => {
  const { client, headers } = await openClient({ appInfo, ...options });
  await client.payments.list();
  await client.close();
  expect(headers("user-agent")).toEqual([
    ["token", userAgent],
    ["payments", userAgent],
    ["logout", userAgent],
  ]);
});

it("names the program in the User-Agent of a ServerLogin's token requests and session's end", async () => {
  const seen: [string, string | null][] = [];
  const onRequest = ({ path, headers }: SandboxRequest) => {
    seen.push([path.slice(path.lastIndexOf("/") + 1), headers.get("user-agent")]);
    return undefined;
  };
  const { login } = await openLogin({ onRequest }, { appInfo });
  const session = await logIn(login);
  await session.logout();
  expect(seen.filter(([path]) => path !== "auth")).toEqual([
    ["token", userAgent],
    ["logout", userAgent],
  ]);
});

it("sends the client's headers with every call, and none of them with token requests", async () => {
  const { client, headers } = await openClient({ headers: { "X-Tenant": "north" } });
  await client.payments.list();
  await client.payments.list({}, { headers: { "x-tenant": "south" } });
  await client.check();
  expect(headers("x-tenant")).toEqual([
    ["token", null],
    ["payments", "north"],
    ["payments", "south"],
    ["payment-gateways", "north"],
  ]);
});

it("takes a copy of the client's headers, and lets a User-Agent of the caller's own stand", async () => {
  const given: Record<string, string> = { "user-agent": "mine" };
  const { client, headers } = await openClient({ headers: given, appInfo });
  given["user-agent"] = "changed";
  await client.payments.list();
  expect(headers("user-agent")).toEqual([
    ["token", userAgent],
    ["payments", "mine"],
  ]);
});

it("shows no value of the client's headers in events, logs and errors", async () => {
  const lines: unknown[] = [];
  const write = (...line: unknown[]) => void lines.push(line);
  const logger: Logger = { debug: write, warn: write, error: write };
  const failure = vi.fn();
  const fetchEcho: ClientOptions["fetch"] = async (url, init) =>
    String(url).endsWith("/token")
      ? Response.json({ access_token: "t", token_type: "Bearer" })
      : Response.json({ error: "no", message: `canary ${Object.values(init?.headers ?? {}).join()}` }, { status: 400 });
  const { client } = await openClient({
    headers: { "x-tenant": "canary-tenant" },
    logger,
    on: { failure },
    fetch: fetchEcho,
  });
  const error = await client.payments.list().catch((thrown: unknown) => thrown);
  expect(String(error)).toContain("400");
  expect(JSON.stringify([String(error), error, lines, failure.mock.calls])).not.toContain("canary-tenant");
});

it.each<[Partial<ClientOptions>, string]>([
  [{ headers: { Authorization: "x" } }, "headers: authorization is set by the client itself and can't be replaced"],
  [{ headers: { "x-a": "a\nb" } }, "headers: the value of x-a is not a text of Latin-1 characters on one line"],
  [{ headers: "x" as never }, 'headers must be an object such as { "x-name": "value" }; got a string'],
  [{ appInfo: { name: "a b", version: "1" } }, "appInfo: name must be up to 100 letters, digits"],
  [{ appInfo: null as never }, "appInfo: it must be an object; got null"],
  [{ appInfo: { name: "a" } as never }, "appInfo: version must be up to 100 letters, digits"],
  [{ appInfo: { ...appInfo, url: "x" } as never }, 'appInfo: unknown option "url"; the options are name, version'],
])("refuses %j as the client is built", (options, message) => {
  const auth = { accessToken: () => "t" };
  const build = () => new CrossBorderClient({ baseUrl: "https://service.test", auth, ...options });
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(message);
});

it("reads the program and the certificates of instances of a class, as it does all options", () => {
  class Program {
    readonly name = "school-fees";
    get version(): string {
      return "2.4.1";
    }
  }
  class Certificates {
    readonly servername = "id.internal";
  }
  const login = { authUrl: "https://id.test", realm: "r", clientId: "c", redirectUri: "https://bank.test/callback" };
  const build = [
    () => new CrossBorderClient({ baseUrl: login.authUrl, auth: { accessToken: () => "t" }, appInfo: new Program() }),
    () => new ServerLogin({ ...login, appInfo: new Program(), tls: new Certificates() }),
  ];
  for (const one of build) expect(one).not.toThrow();
});
