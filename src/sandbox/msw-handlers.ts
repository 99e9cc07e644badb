import { withoutPath } from "./options.js";
import { routes } from "./requests.js";
import type { Sandbox } from "./sandbox.js";

/** MSW's `http`, as far as it is needed here. Those of MSW 2 and MSW 3 both fit. */
export interface MswHttp<Handler> {
  get(path: string, resolver: MswResolver): Handler;
  post(path: string, resolver: MswResolver): Handler;
  put(path: string, resolver: MswResolver): Handler;
}

export type MswResolver = (info: { readonly request: Request }) => Promise<Response>;

export interface MswHandlersOptions<Handler> {
  /** `http` of the `msw` package. */
  readonly http: MswHttp<Handler>;
  /** The client's `baseUrl`, with the sandbox's `basePath` at its end or without. */
  readonly baseUrl: string;
  /** The client's `auth.authUrl`, with the sandbox's `authPath` at its end or without. */
  readonly authUrl: string;
}

/**
 * MSW handlers of the whole described API: one for each operation, and two for the identity provider.
 *
 * @throws {ConfigError} if an address has a path that isn't the sandbox's own: the signed paths would differ.
 */
export function mswHandlers<Handler>(sandbox: Sandbox, options: MswHandlersOptions<Handler>): Handler[] {
  const { http } = options;
  const apiOrigin = withoutPath("baseUrl", options.baseUrl, sandbox.basePath);
  const authOrigin = withoutPath("authUrl", options.authUrl, sandbox.authPath);
  const resolver: MswResolver = ({ request }) => sandbox.handle(request);
  const methods = { GET: http.get, POST: http.post, PUT: http.put };
  const handlers = routes.map(({ operation, mswPath }) =>
    methods[operation.method](apiOrigin + sandbox.basePath + mswPath, resolver),
  );
  // Users log in and out beside the tokens' own address.
  const identity = authOrigin + sandbox.tokenPath.replace(/\/token$/, "/:endpoint");
  return [...handlers, http.get(identity, resolver), http.post(identity, resolver)];
}
