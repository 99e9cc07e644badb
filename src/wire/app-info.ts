import { ConfigError } from "../core/errors.js";
import { type CheckTable, parseOptions } from "../core/parse.js";
import type { Transport } from "./transport.js";
import { version } from "./version.js";

/** The program that uses the client, for the service's logs. */
export interface AppInfo {
  /** Letters, digits, and characters such as `-` and `.`: `school-fees`. */
  readonly name: string;
  /** The same characters: `2.4.1`. */
  readonly version: string;
}

const token = {
  // RFC 9110, section 5.6.2.
  accepts: (value: unknown) => typeof value === "string" && /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(value),
  wanted: "up to 100 letters, digits and characters such as - and .",
  isRequired: true,
} as const;

const appInfo: CheckTable<AppInfo> = { name: token, version: token };

/** @throws {ConfigError} that names what is wrong. */
export function parseAppInfo(given: unknown, owner = ""): AppInfo {
  const refuse = (message: string) => new ConfigError(`${owner}appInfo: ${message}`);
  // The table has checked the types.
  return parseOptions(appInfo, given, "it", refuse) as unknown as AppInfo;
}

/** The transport, with a `User-Agent` on each request. The caller's own header stays. */
export function withUserAgent(transport: Transport, app: AppInfo | undefined): Transport {
  const own = `cross-border-payments/${version}`;
  const headers = { "user-agent": app === undefined ? own : `${app.name}/${app.version} ${own}` };
  return {
    get acceptEncoding() {
      return transport.acceptEncoding;
    },
    send: (request, deadline) => transport.send({ ...request, headers: { ...headers, ...request.headers } }, deadline),
    preload: () => transport.preload?.(),
    close: () => transport.close(),
  };
}
