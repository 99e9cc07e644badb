import type { KnownSurvivor } from "../known-survivor.js";

const openidGrant = "src/auth/openid-grant.ts";
const sharedSession = "src/auth/shared-session.ts";
const sharedValue = "src/auth/shared-value.ts";
const tokenEndpoint = "src/auth/token-endpoint.ts";
const tokenManager = "src/auth/token-manager.ts";
const tokenResponse = "src/auth/token-response.ts";

const forCompiler = {
  listener: "For the compiler: without a listener it would throw, and that is caught.",
  lifetime: "For the compiler: further down it becomes the same token, which has neither a lifetime nor an end.",
  number: "For the compiler: Number.isFinite takes numbers alone.",
  positive: "For the compiler: what is undefined is not above any number.",
  text: "For the compiler: what is no text has no value.",
  refusal: "For the compiler: where a login was refused, it is known when.",
};
const absent = "A field that is undefined is taken for one that is absent, by openid-client too.";
const leftOut = "JSON leaves out what is undefined.";
const onlyPassword = "Of a failure it is only told whether it was that of a login; every other text is a refresh.";
const isInner = "It never gets out: callers see the error that is made of it.";
const noSuchValue = "The value that would be hidden is in the text of no caller.";
const noIdToken =
  "A response without an ID token is refused in two ways, by openid-client and here, and each of them is enough.";
const onLoading = "It takes effect while the module is loaded, which happens once for all tests.";
const onlyWorkers =
  "Only where a runtime ends work with its request is there a limit, and what it does is tested of `JointWork`.";
const fixedTexts = "Only time: texts are the same as at the last login.";

export const auth: readonly KnownSurvivor[] = [
  {
    file: "src/auth/caller-token-source.ts",
    line: "const cause = describeThrown(error, rejectedToken === undefined ? [] : [rejectedToken]);",
    replacement: '["Stryker was here"]',
    why: noSuchValue,
  },
  { file: "src/auth/grant-failure.ts", line: 'this.name = "GrantError";', replacement: '""', why: isInner },
  {
    file: openidGrant,
    line: "const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };",
    replacement: "false",
    why: noIdToken,
  },
  ...["false", '""'].map((replacement) => ({
    file: openidGrant,
    line: 'if (claims === undefined) throw new Error("no ID token");',
    replacement,
    why: noIdToken,
  })),
  {
    file: openidGrant,
    line: 'const signingAlgorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");',
    replacement: '""',
    why: onLoading,
  },
  ...["true", '""'].map((replacement) => ({
    file: openidGrant,
    line: 'if (origin.startsWith("http:")) allowInsecureRequests(config);',
    replacement,
    why: "An address with https has nothing to allow: openid-client takes it either way.",
  })),
  {
    file: sharedSession,
    line: "const expiry = refreshExpiresAtMs === undefined ? undefined : { refreshExpiresAtMs };",
    replacement: "false",
    why: leftOut,
  },
  {
    file: sharedSession,
    line: "} catch {",
    replacement: "{}",
    why: "Of `look`: a function that returns nothing returns undefined. The others are tested.",
  },
  {
    file: sharedSession,
    line: 'return { unshared: error instanceof StoreAway ? error.reason : "FAILED" };',
    replacement: '""',
    why: "Only a message's wording: what asks the store throws nothing else.",
  },
  {
    file: sharedSession,
    line: "const value = text === undefined ? undefined : readSharedValue(text);",
    replacement: "false",
    why: forCompiler.text,
  },
  ...[
    'return { failure, grant: "refresh_token" };',
    'if (!this.#endpoint.canLogIn) return { failure: ended, grant: "refresh_token" };',
  ].map((line) => ({ file: sharedSession, line, replacement: '""', why: onlyPassword })),
  ...['const loggedOut = "logout";', 'const sessionOver = "ended";'].map((line) => ({
    file: sharedSession,
    line,
    replacement: '""',
    why: onLoading,
  })),
  ...[
    'const sessionSpent: GrantFailure = { class: "session-spent" };',
    'const sessionEnded: GrantFailure = { class: "session-ended" };',
  ].flatMap((line) => ["{}", '""'].map((replacement) => ({ file: sharedSession, line, replacement, why: onLoading }))),
  {
    file: sharedValue,
    line: "...(refreshToken === undefined ? undefined : { refreshToken }),",
    replacement: "false",
    why: leftOut,
  },
  {
    file: sharedValue,
    line: "if (lifetimeMs === undefined) return toToken(accessToken, at, undefined);",
    replacement: "false",
    why: forCompiler.lifetime,
  },
  {
    file: sharedValue,
    line: 'return typeof part === "number" && Number.isFinite(part) && part >= 0;',
    original: 'typeof part === "number"',
    replacement: "true",
    why: forCompiler.number,
  },
  { file: "src/auth/store-entry.ts", line: 'this.name = "StoreAway";', replacement: '""', why: isInner },
  {
    file: tokenEndpoint,
    line: 'const secrets = [state, nonce, verifier, url.searchParams.get("code") ?? ""];',
    replacement: '"Stryker was here!"',
    why: noSuchValue,
  },
  {
    file: tokenEndpoint,
    line: 'grant: "authorization_code",',
    replacement: '""',
    why: "It only has to be no other grant: openid-client names that of a callback itself.",
  },
  {
    file: tokenEndpoint,
    line: "if (status !== undefined && status >= 400) return String(status);",
    original: "status !== undefined",
    replacement: "true",
    why: forCompiler.positive,
  },
  {
    file: tokenEndpoint,
    line: "...(claims === undefined ? undefined : { claims }),",
    replacement: "false",
    why: absent,
  },
  ...["false", '""'].map((replacement) => ({
    file: tokenEndpoint,
    line: 'if (typeof auth.password === "string" && typeof auth.clientSecret !== "function") return false;',
    replacement,
    why: fixedTexts,
  })),
  {
    file: tokenManager,
    line: 'const isGiven = "refreshToken" in auth && store === undefined;',
    replacement: "true",
    why: "Without a password, whatever the store brings is the outcome: this session would never be used.",
  },
  ...["true", "false", "store !== undefined", "(store === undefined ? 2 : 6) / timeoutMs"].map((replacement) => ({
    file: tokenManager,
    line: "this.#renewal = new JointWork((store === undefined ? 2 : 6) * timeoutMs);",
    replacement,
    why: onlyWorkers,
  })),
  {
    file: "src/auth/hold.ts",
    line: "if (this.#hold === hold) this.#hold = undefined;",
    replacement: "true",
    why: "All calls that wait for one answer go on together, before another hold can begin.",
  },
  {
    file: "src/auth/hold.ts",
    line: "if (this.#refusals <= 3 || this.#lastRefusal === undefined) return true;",
    original: "this.#lastRefusal === undefined",
    replacement: "false",
    why: forCompiler.refusal,
  },
  {
    file: tokenManager,
    line: "return waitMs <= 0 ? undefined : this.#leaveAlone(failure, toHold(failure, Math.min(waitMs, longestWaitMs), false));",
    replacement: "true",
    why: "A call waits for a store that is away in any case, whether that is said to pass or not.",
  },
  {
    file: tokenManager,
    line: "this.#onToken?.({ grant, ...(lifetimeMs === undefined ? undefined : { expiresInMs: lifetimeMs }), ...shared });",
    replacement:
      "this.#onToken({ grant, ...(lifetimeMs === undefined ? undefined : { expiresInMs: lifetimeMs }), ...shared })",
    why: forCompiler.listener,
  },
  ...[
    "...(lifetime === undefined ? undefined : { expires_in: lifetime }),",
    "...(refreshLifetime === undefined ? undefined : { refresh_expires_in: refreshLifetime }),",
    "...(retryAfterMs === undefined ? undefined : { retryAfterMs }),",
  ].map((line) => ({ file: tokenResponse, line, replacement: "false", why: absent })),
  {
    file: tokenResponse,
    line: '...(typeof id_token === "string" ? { id_token } : undefined),',
    replacement: "true",
    why: noIdToken,
  },
  {
    file: tokenResponse,
    line: 'return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;',
    original: 'typeof seconds === "number"',
    replacement: "true",
    why: forCompiler.number,
  },
];
