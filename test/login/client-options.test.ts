import { type ClientOptions, CrossBorderClient, type Logger } from "cross-border-payments";
import { type SandboxRequest, startSandbox } from "cross-border-payments/sandbox";
import { expect, it, onTestFinished, vi } from "vitest";
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
