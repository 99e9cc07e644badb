import { type ClientOptions, ConfigError, CrossBorderClient } from "cross-border-payments";
import { type SandboxRequest, startSandbox } from "cross-border-payments/sandbox";
import { expect, it, onTestFinished } from "vitest";
import { logIn, openLogin } from "./login-fixture.js";

const appInfo = { name: "school-fees", version: "2.4.1" };
const userAgent = expect.stringMatching(/^school-fees\/2\.4\.1 cross-border-payments\/\d+\.\d+\.\d+$/);

async function openClient(options: Partial<ClientOptions>) {
  const seen: SandboxRequest[] = [];
  const note = (request: SandboxRequest) => void seen.push(request);
  const server = await startSandbox({ onRequest: note });
  const { baseUrl, auth } = server.clientOptions;
  const client = new CrossBorderClient({ baseUrl, auth: { ...auth, endSessionOnClose: true }, ...options });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const headers = (name: string) =>
    seen.map(({ path, headers }) => [path.slice(path.lastIndexOf("/") + 1), headers.get(name)]);
  return { client, note, headers };
}

it.each<[string, Pick<ClientOptions, "fetch">]>([
  ["undici", {}],
  ["fetch", { fetch: (url, init) => fetch(url, init) }],
])("names the program in the User-Agent of calls, token requests and the session's end, by %s", async (_, options) => {
  const { client, note, headers } = await openClient({ appInfo, ...options });
  await client.payments.list();
  await client.close();
  const { login } = await openLogin({ onRequest: note }, { appInfo, ...options });
  await (await logIn(login)).logout();
  const asked = headers("user-agent").filter(([path]) => path !== "auth");
  expect(asked).toEqual(["token", "payments", "logout", "token", "logout"].map((path) => [path, userAgent]));
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

it.each<[Partial<ClientOptions>, string]>([
  [{ headers: { Authorization: "x" } }, "headers: authorization is set by the client itself and can't be replaced"],
  [{ headers: { "x-a": "a\nb" } }, "headers: the value of x-a is not a text of Latin-1 characters on one line"],
  [{ appInfo: { name: "a b", version: "1" } }, "appInfo: name must be up to 100 letters, digits"],
  [{ appInfo: { ...appInfo, url: "x" } as never }, 'appInfo: unknown option "url"; the options are name, version'],
])("refuses %j as the client is built", (options, message) => {
  const auth = { accessToken: () => "t" };
  const build = () => new CrossBorderClient({ baseUrl: "https://service.test", auth, ...options });
  expect(build).toThrow(ConfigError);
  expect(build).toThrow(message);
});
