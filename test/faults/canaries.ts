import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { keyPairOf } from "../support/key-pairs.js";
import type { Kind } from "./expectations.js";
import type { SeenRequest, ToldSecrets } from "./wire-fault-server.js";

const canary = (name: string) => `${name}${randomBytes(12).toString("hex")}`;

/** Secrets of a login. The identity server knows them, and the tokens that it issues. */
export const credentials = { username: "gateway-user", password: canary("pw"), clientSecret: canary("cs") };
const tokens = {
  access_token: canary("at"),
  refresh_token: canary("rt"),
  id_token: `${canary("eyJ")}.${canary("eyJ")}.${canary("sig")}`,
};
/** The service knows the contents of bodies and queries. */
export const accounts = { senderAccount: canary("sa"), receiverAccount: canary("ra") };
export const bearer = { accountVerificationBearerToken: canary("bt") };
const keyLines = String(keyPairOf("gateway").privateKey.export({ type: "pkcs8", format: "pem" }))
  .split("\n")
  .filter((line) => /^[\w+/=]{30,}$/.test(line));

/** The access token gets a number, so that a renewed one differs. */
export const tokensOf = (number: number) => ({ ...tokens, access_token: `${tokens.access_token}${number}` });

/** None of them may get into a log. */
const secrets: Readonly<Record<string, readonly string[]>> = {
  password: [credentials.password],
  "client secret": [credentials.clientSecret],
  "access token": [tokens.access_token],
  "refresh token": [tokens.refresh_token],
  "id token": [tokens.id_token, ...tokens.id_token.split(".")],
  "account number": Object.values(accounts),
  accountVerificationBearerToken: Object.values(bearer),
  "private key": keyLines,
};

const ofLogin = [credentials.password, credentials.clientSecret];
const known: Readonly<Record<Kind, readonly string[]>> = {
  read: Object.values(accounts),
  update: [],
  create: Object.values(bearer),
  intent: Object.values(accounts),
  payment: Object.values(accounts),
  login: ofLogin,
  refresh: [...ofLogin, ...Object.values(tokensOf(1))],
};

let cells = 0;

/** What the failing server repeats wherever it can: what it knows, and the tokens that it was sent. */
export function toldTo(kind: Kind): (requests: readonly SeenRequest[]) => ToldSecrets {
  const cell = cells++;
  return (requests) => {
    const sent = requests.map(({ headers }) => headers.get("authorization") ?? "").filter((text) => text !== "");
    const all = [...known[kind], ...sent.map((text) => text.replace("Bearer ", ""))];
    // Where only one word fits, each cell uses another secret.
    return { text: [...all, ...sent].join(" "), word: all[cell % all.length] ?? "" };
  };
}

/** The secrets in an error, its causes, the client, and the events, in every way in which they get into a log. */
export function leaksIn(error: unknown, ...others: readonly unknown[]): readonly string[] {
  const errors: unknown[] = [];
  for (let at = error; at instanceof Error; at = at.cause) errors.push(at, at.message, at.stack);
  const texts = [...errors, ...others].flatMap((value) => [
    inspect(value, { depth: 10 }),
    JSON.stringify(value) ?? "",
    String(value),
  ]);
  const shown = texts.join("\n");
  return Object.entries(secrets).flatMap(([name, values]) => (values.some((one) => shown.includes(one)) ? name : []));
}
