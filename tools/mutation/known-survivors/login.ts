import type { KnownSurvivor } from "../known-survivor.js";

const browserLogin = "src/login/browser-login.ts";
const codeExchange = "src/login/code-exchange.ts";

export const login: readonly KnownSurvivor[] = [
  {
    file: browserLogin,
    line: "this.#logouts += 1;",
    replacement: "this.#logouts -= 1",
    why: "What counts is that a login that comes back sees another number than at its beginning.",
  },
  {
    file: browserLogin,
    line: "return kept === null ? undefined : readPending(kept);",
    original: "kept === null",
    replacement: "false",
    why: "For the compiler: null is no text that was written here.",
  },
  {
    file: codeExchange,
    line: "if (refreshToken !== undefined && claims !== undefined) return { granted, refreshToken, claims };",
    original: "claims !== undefined",
    replacement: "true",
    why: "For the compiler: a code that was redeemed brought an ID token, or it is a failure.",
  },
  {
    file: codeExchange,
    line: 'if (failure.class === "unverified" && failure.reason === "iss") return issuerMismatch("ID token");',
    original: 'failure.class === "unverified"',
    replacement: "true",
    why: "No other failure has a reason.",
  },
  {
    file: "src/login/page.ts",
    line: 'history.replaceState(history.state, "", url.href);',
    replacement: '"Stryker was here!"',
    why: "A title, which no browser looks at.",
  },
  {
    file: "src/login/user-tokens.ts",
    line: "#hasEnded = false;",
    replacement: "true",
    why: "It counts once there is a session, with which it is set.",
  },
];
