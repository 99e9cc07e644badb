import type { SandboxClientOptions } from "cross-border-payments/sandbox";

/** The settings that lead to a sandbox, as a file has them. */
export function settingsOf({ baseUrl, auth }: SandboxClientOptions): Record<string, string> {
  const { authUrl, realm, clientId, username, password } = auth;
  return { baseUrl, authUrl, realm, clientId, username, password };
}

/** The same, as the environment has them. */
export function environmentOf(options: SandboxClientOptions): Record<string, string> {
  const named = Object.entries(settingsOf(options)).map(([name, value]) => [variableOf(name), value]);
  return Object.fromEntries(named);
}

const variableOf = (name: string) => `CROSS_BORDER_${name.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
