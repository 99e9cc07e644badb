import { operations } from "../resources/catalogue.js";
import { withoutPath } from "./address.js";
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
  /** The client's `baseUrl`, with the sandbox's `basePath` at its end or without. */
  readonly baseUrl: string;
  /** The client's `auth.authUrl`, with the sandbox's `authPath` at its end or without. */
  readonly authUrl: string;
}

/**
 * MSW handlers of the whole described API: one for each operation, and two for the identity provider.
 *
 * @throws {ConfigError} when an address has a path that is not the sandbox's own: signed paths would not fit.
 */
export function mswHandlers<Handler>(sandbox: Sandbox, options: MswHandlersOptions<Handler>): Handler[] {
  const { http } = options;
  const apiOrigin = withoutPath("baseUrl", options.baseUrl, "basePath", sandbox.basePath);
  const authOrigin = withoutPath("authUrl", options.authUrl, "authPath", sandbox.authPath);
  const resolver: MswResolver = ({ request }) => sandbox.handle(request);
  const methods = { GET: http.get, POST: http.post, PUT: http.put };
  const handlers = [...operations.values()].map(({ method, path }) =>
    methods[method](apiOrigin + sandbox.basePath + path.text.replace(/\{(\w+)\}/g, ":$1"), resolver),
  );
  // Beside the tokens' own address there are those where users log in and out.
  const identity = authOrigin + sandbox.tokenPath.replace(/\/token$/, "/:endpoint");
  return [...handlers, http.get(identity, resolver), http.post(identity, resolver)];
}
