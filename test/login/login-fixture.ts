import { inspect } from "node:util";
import {
  type ClientOptions,
  CrossBorderClient,
  MemoryTokenStore,
  ServerLogin,
  type ServerLoginOptions,
  TokenError,
  type UserAuth,
} from "cross-border-payments";
import { type SandboxServerOptions, startSandbox } from "cross-border-payments/sandbox";
import { expect, onTestFinished } from "vitest";

export const redirectUri = "https://bank.test/callback";

/** A sandbox over real sockets, and a login of it. */
export async function openLogin(sandbox: SandboxServerOptions = {}, more: Partial<ServerLoginOptions> = {}) {
  const server = await startSandbox(sandbox);
  const { realm, clientId, clientSecret } = server.sandbox.credentials;
  const options: ServerLoginOptions = { authUrl: server.authUrl, realm, clientId, clientSecret, redirectUri, ...more };
  const login = new ServerLogin(options);
  const clients: CrossBorderClient[] = [];
  onTestFinished(async () => {
    for (const client of clients) await client.close();
    await login.close();
    await server.close();
  });
  return {
    server,
    options,
    login,
    /** A client of the sandbox for a user; closed when the test is over. */
    client(auth: UserAuth, more?: Partial<ClientOptions>) {
      const client = new CrossBorderClient({ baseUrl: server.baseUrl, auth, ...more });
      clients.push(client);
      return client;
    },
    /** How tokens were requested so far. */
    grants: () => server.sandbox.tokenRequests.map(({ grantType }) => grantType),
  };
}

export const withStore = () => ({ tokenStore: new MemoryTokenStore() });

/** Presses the button of the login page, and returns where that leads. */
export async function pressButton(url: string): Promise<URL> {
  const response = await fetch(url, { method: "POST", redirect: "manual" });
  return new URL(response.headers.get("location") ?? "");
}

/** A user who logs in. */
export async function logIn(login: ServerLogin) {
  const { url, pending } = await login.begin();
  return login.finish(await pressButton(url), pending);
}

/** The error of a login, which shows none of `secrets`, however it is printed. */
export async function failureOf(work: Promise<unknown>, secrets: readonly string[] = []): Promise<TokenError> {
  const error: unknown = await work.then(
    () => new Error("it did not fail"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof TokenError)) throw error;
  const shown = [
    error.message,
    error.stack,
    inspect(error, { depth: 9, showHidden: true }),
    JSON.stringify(error),
  ].join();
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(8);
    expect(shown).not.toContain(secret);
  }
  return error;
}

/** What a login keeps secret. */
export function secretsOf(pending: string, callback?: URL): string[] {
  return [
    ...Object.values(JSON.parse(pending) as Record<string, string>),
    callback?.searchParams.get("code") ?? [],
  ].flat();
}
