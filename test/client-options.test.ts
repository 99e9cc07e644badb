import { type ClientOptions, ConfigError, CrossBorderClient, MemoryTokenStore } from "cross-border-payments";
import { Agent, buildConnector } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { clientOptions } from "../src/client-options.js";
import { keyPairOf } from "./support/key-pairs.js";
import { startWireServer, wireResponse } from "./wire/wire-server.js";

const auth = { authUrl: "https://id.test", realm: "r", clientId: "c", username: "u", password: "p" };

function refusal(options: Partial<ClientOptions>): ConfigError {
  try {
    new CrossBorderClient({ baseUrl: "https://service.test", auth, ...options });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("the options were taken");
}

/** Gives tokens and records. */
const startService = () =>
  startWireServer({
    onRequest: (socket, request) =>
      socket.write(
        wireResponse(200, request.includes("/token ") ? '{"access_token":"t","token_type":"Bearer"}' : '{"id":"1"}'),
      ),
  });

describe("http to another host", () => {
  const insecureAuth = { ...auth, authUrl: "http://keycloak.mesh:8080" };

  it.each<[string, Partial<ClientOptions>]>([
    ["baseUrl", { baseUrl: "http://service.mesh/gw" }],
    ["auth: authUrl", { auth: insecureAuth }],
    ["auth: authUrl", { auth: insecureAuth, allowInsecureHttp: false }],
  ])("is refused as %s, and the error names the option that allows it", (option, options) => {
    const { message } = refusal(options);
    expect(message).toContain(`${option} is an http address of a host other than this machine`);
    expect(message).toContain("allowInsecureHttp: true");
  });

  it.each(["true", 1, null])("is not allowed by %j", (allowInsecureHttp) => {
    expect(refusal({ allowInsecureHttp: allowInsecureHttp as never }).message).toContain(
      "allowInsecureHttp must be true or false",
    );
  });

  it("is used for calls and for tokens where it is allowed", async () => {
    const server = await startService();
    const connect = buildConnector({});
    // As a sidecar does it: whatever the host, the connection goes to this machine.
    const dispatcher = new Agent({
      connect: (options, callback) =>
        connect({ ...options, hostname: "127.0.0.1", port: String(server.port) }, callback),
    });
    onTestFinished(() => dispatcher.close());
    const client = new CrossBorderClient({
      baseUrl: "http://service.mesh/gw",
      auth: insecureAuth,
      allowInsecureHttp: true,
      dispatcher,
    });
    await client.paymentIntents.get("1");
    await client.close();
    expect(server.requests.map((request) => request.match(/^(?:POST|GET) \S+|^host: \S+/gm))).toEqual([
      ["POST /auth/realms/r/protocol/openid-connect/token", "host: keycloak.mesh:8080"],
      ["GET /gw/payment-intents/1", "host: service.mesh"],
    ]);
  });

  it.each(["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"])("needs no leave for %s", async (address) => {
    const client = new CrossBorderClient({ baseUrl: address, auth: { ...auth, authUrl: address } });
    await client.close();
  });

  it.each(["ftp://service.mesh", "ws://service.mesh", "http://u:p@service.mesh", "http://service.mesh/?a"])(
    "stays refused as %s",
    (baseUrl) => {
      expect(refusal({ baseUrl, allowInsecureHttp: true }).message).toMatch(/^baseUrl is /);
    },
  );
});

it.each(Object.keys(clientOptions))("checks %s", (name) => {
  expect(refusal({ [name]: Symbol("of no option") }).message).toContain(name);
});

it.each([
  ["payments.creat", 'signedOperations has "payments.creat", which is no operation'],
  ["sk_live_5123456", "signedOperations must be an array of operations, such as payments.create; got an array"],
])("refuses %s among signedOperations, and shows only names", (operation, shown) => {
  const { message } = refusal({ signedOperations: ["payments.create", operation as "payments.create"] });
  expect(message).toBe(shown);
});

it.each([
  [{}, "an object"],
  ["redis://localhost", "a string"],
])("takes nothing for a token store that has not its methods: %j", (tokenStore, found) => {
  expect(refusal({ tokenStore: tokenStore as never }).message).toBe(
    `tokenStore must be a token store: an object with the methods read, lock, unlock and write; got ${found}`,
  );
});

it.each<[options: Partial<ClientOptions>, message: string]>([
  [{ fetch, dispatcher: { dispatch: () => true } }, "fetch and dispatcher exclude each other"],
  [{ auth: { accessToken: () => "token" }, tokenStore: new MemoryTokenStore() }, "tokenStore has no use with auth.acc"],
])("refuses what doesn't go together: %#", (options, message) => {
  expect(refusal(options).message).toContain(message);
});

it("shares one login between clients with one token store", async () => {
  const server = await startService();
  const address = `http://127.0.0.1:${server.port}`;
  const tokenStore = new MemoryTokenStore();
  const shared: unknown[] = [];
  for (let count = 0; count < 3; count++) {
    await using client = new CrossBorderClient({
      baseUrl: address,
      auth: { ...auth, authUrl: address },
      tokenStore,
      on: { token: (event) => shared.push(event) },
    });
    await client.paymentIntents.get("1");
  }
  expect(server.requests.filter((request) => request.startsWith("POST"))).toHaveLength(1);
  expect(shared).toEqual([{ grant: "password", shared: true }]);
});

describe("a key to sign with, where browsers would send a payment twice", () => {
  async function resolveOn(platform: "node" | "web" | "workerd", options: Partial<ClientOptions>) {
    vi.resetModules();
    vi.doMock("#platform", () => import(`../src/platform/${platform}.ts`));
    const { resolveOptions } = await import("../src/client-options.js");
    // What is loaded later than this test must not be of that platform.
    vi.doUnmock("#platform");
    onTestFinished(() => void vi.resetModules());
    return resolveOptions({ baseUrl: "https://service.test", auth, ...options });
  }
  const signingKey = keyPairOf("gateway").privateKey;

  it("is refused in a page, and so is a signer", async () => {
    const refused = {
      name: "ConfigError",
      message: expect.stringMatching(/^signingKey: a browser's `fetch` may send a payment twice/),
    };
    await expect(resolveOn("web", { signingKey })).rejects.toMatchObject(refused);
    await expect(
      resolveOn("web", { signingKey: { publicKey: keyPairOf("gateway").publicKey, sign: async () => "" } }),
    ).rejects.toMatchObject(refused);
  });

  it("is taken with what sends in place of the browser, and everywhere else", async () => {
    const agent = new Agent();
    onTestFinished(() => agent.close());
    const sending = { fetch: async () => new Response() };
    await expect(resolveOn("web", { signingKey, ...sending })).resolves.toMatchObject(sending);
    await expect(resolveOn("web", { signingKey, dispatcher: agent })).resolves.toMatchObject({ dispatcher: agent });
    await expect(resolveOn("web", {})).resolves.toMatchObject({ fetch: undefined });
    await expect(resolveOn("workerd", { signingKey })).resolves.toMatchObject({ signingKey });
    await expect(resolveOn("node", { signingKey })).resolves.toMatchObject({ signingKey });
  });
});
