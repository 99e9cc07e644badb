import { ConfigError } from "../errors/errors.js";
import { operations } from "../resources/catalogue.js";
import type { Sandbox } from "./sandbox.js";

/** MSW's `http`, as far as it is needed here: that of MSW 2 and of MSW 3 both are one. */
export interface MswHttp<Handler> {
  get(path: string, resolver: MswResolver): Handler;
  post(path: string, resolver: MswResolver): Handler;
  put(path: string, resolver: MswResolver): Handler;
}

export type MswResolver = (info: { readonly request: Request }) => Promise<Response>;

export interface MswHandlersOptions<Handler> {
  /** `http` of the `msw` package. */
  readonly http: MswHttp<Handler>;
  /** The client's `baseUrl`. Its path has to be the sandbox's `basePath`. */
  readonly baseUrl: string;
  /** The client's `auth.authUrl`. Its path has to be the sandbox's `authPath`. */
  readonly authUrl: string;
}

/**
 * MSW handlers of the whole described API: one for each operation, and two for the identity provider.
 *
 * @throws {ConfigError} when an address does not end in the sandbox's own base path: signed paths would not fit.
 */
export function mswHandlers<Handler>(sandbox: Sandbox, options: MswHandlersOptions<Handler>): Handler[] {
  const { http } = options;
  const apiOrigin = originOf("baseUrl", options.baseUrl, "basePath", sandbox.basePath);
  const authOrigin = originOf("authUrl", options.authUrl, "authPath", sandbox.authPath);
  const resolver: MswResolver = ({ request }) => sandbox.handle(request);
  const methods = { GET: http.get, POST: http.post, PUT: http.put };
  const handlers = [...operations.values()].map(({ method, path }) =>
    methods[method](apiOrigin + sandbox.basePath + path.text.replace(/\{(\w+)\}/g, ":$1"), resolver),
  );
  // Beside the tokens' own address there are those where users log in and out.
  const identity = authOrigin + sandbox.tokenPath.replace(/\/token$/, "/:endpoint");
  return [...handlers, http.get(identity, resolver), http.post(identity, resolver)];
}

function originOf(option: string, address: string, pathOption: string, path: string): string {
  if (!URL.canParse(address)) throw new ConfigError(`${option} must be a full URL`);
  const { origin, pathname } = new URL(address);
  if (pathname.replace(/\/+$/, "") === path) return origin;
  throw new ConfigError(`the path of ${option} must be the sandbox's ${pathOption}, which is ${JSON.stringify(path)}`);
}
