import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import type { ClientEvents } from "cross-border-payments";
import { afterAll, beforeAll, expect, it } from "vitest";
import { keyPairOf } from "../support/key-pairs.js";
import { isThorough } from "../support/thorough.js";
import { type ClientCall, intent, payment, playAll, playLimitMs } from "./calls.js";
import { type Fixture, type Observation, openFixture, playCell } from "./cell.js";
import type { Kind } from "./expectations.js";
import { canBeWellBefore, type Fault, faults } from "./faults.js";
import { LoopLag } from "./loop-lag.js";
import type { SeenRequest } from "./wire-fault-server.js";

const canary = (name: string) => `${name}${randomBytes(12).toString("hex")}`;

/** Secrets of a login. The identity server knows them, and the tokens that it issues. */
const credentials = { username: "gateway-user", password: canary("pw"), clientSecret: canary("cs") };
const tokens = {
  access_token: canary("at"),
  refresh_token: canary("rt"),
  id_token: `${canary("eyJ")}.${canary("eyJ")}.${canary("sig")}`,
};
/** What the service knows besides the call's access token: the contents of its body. */
const accounts = { senderAccount: canary("sa"), receiverAccount: canary("ra") };
const bearer = { accountVerificationBearerToken: canary("bt") };
const privateKey = keyPairOf("gateway").privateKey;
const keyLines = String(privateKey.export({ type: "pkcs8", format: "pem" }))
  .split("\n")
  .filter((line) => /^[\w+/=]{30,}$/.test(line));

/** The access token gets a number, so that a renewed one differs. */
const tokensOf = (number: number) => ({ ...tokens, access_token: `${tokens.access_token}${number}` });

const canaries: Readonly<Record<string, readonly string[]>> = {
  password: [credentials.password],
  "client secret": [credentials.clientSecret],
  "access token": [tokens.access_token],
  "refresh token": [tokens.refresh_token],
  "id token": [tokens.id_token, ...tokens.id_token.split(".")],
  "account number": Object.values(accounts),
  accountVerificationBearerToken: Object.values(bearer),
  "private key": keyLines,
};

/** What the failing server repeats wherever it can, besides the tokens that it was sent. */
type Operation = readonly [kind: Kind, call: ClientCall, known: readonly string[]];

const read: ClientCall = (client, options) => client.paymentIntents.get("intent-1", options);
const operations: readonly Operation[] = [
  [
    "read",
    (client, options) => client.paymentIntents.get("intent-1", { ...options, query: accounts }),
    Object.values(accounts),
  ],
  [
    "create",
    (client, options) => client.paymentGateways.create({ institutionId: "alpha", ...bearer }, options),
    Object.values(bearer),
  ],
  [
    "intent",
    (client, options) => client.paymentIntents.create({ ...intent, ...accounts }, options),
    Object.values(accounts),
  ],
  [
    "payment",
    (client, options) => client.payments.create({ ...payment, ...accounts }, options),
    Object.values(accounts),
  ],
  ["login", read, [credentials.password, credentials.clientSecret]],
  [
    "refresh",
    read,
    [tokens.refresh_token, tokensOf(1).access_token, tokens.id_token, credentials.clientSecret, credentials.password],
  ],
];

/** One for every other fault, one after the other: `CBP_THOROUGH=1` plays every operation. */
function operationsOf(index: number): readonly Operation[] {
  if (isThorough) return operations;
  if (index % 2 > 0) return [];
  const turn = index / 2 + Math.trunc(index / operations.length);
  return operations.filter((_, place) => place === turn % operations.length);
}

const cells = faults.flatMap((fault, index) =>
  operationsOf(index)
    .filter(([kind]) => kind !== "refresh" || canBeWellBefore(fault))
    .map((operation) => ({ name: `${fault.name}: ${operation[0]}`, fault, index, operation })),
);

/** One text that may reach a log, and where it comes from. */
interface Shown {
  readonly where: string;
  readonly text: string;
}

/** All of them, by cell. */
const shown = new Map<string, Shown[]>();
const consoleLines: string[] = [];
let failures = 0;
const lag = new LoopLag();
let fixture: Fixture;
let restore = (): void => {};

beforeAll(async () => {
  restore = captureOutput(consoleLines);
  fixture = await openFixture(lag);
  try {
    await playAll(cells, async ({ name, fault, index, operation }) => {
      const events: unknown[] = [];
      const observed = await play(fault, index, operation, events);
      if (observed.error !== undefined) failures += 1;
      shown.set(name, textsOf(observed, events));
    });
  } finally {
    restore();
  }
}, playLimitMs);

afterAll(async () => {
  restore();
  lag.stop();
  await fixture.close();
});

it("sends the canaries through failures of every kind", () => {
  expect(shown.size).toBe(cells.length);
  expect(failures).toBeGreaterThan(cells.length / 2);
  expect(Object.values(canaries).every((secrets) => secrets.length > 0)).toBe(true);
});

it.each(Object.entries(canaries))(
  "shows no %s in a message, a stack, an inspection, JSON or an event",
  (_, secrets) => {
    const leaks = [...shown].flatMap(([cell, texts]) =>
      texts
        .filter(({ text }) => secrets.some((secret) => text.includes(secret)))
        .map(({ where }) => `${where} (${cell})`),
    );
    expect(leaks).toEqual([]);
  },
);

it("prints nothing", () => {
  expect(consoleLines).toEqual([]);
});

function play(fault: Fault, index: number, [kind, call, known]: Operation, events: unknown[]): Promise<Observation> {
  const hook = (event: unknown) => void events.push(event);
  const on: ClientEvents = { response: hook, failure: hook, mismatch: hook, retry: hook, token: hook };
  const told = (requests: readonly SeenRequest[]) => {
    const sent = requests.map(({ headers }) => headers.get("authorization") ?? "").filter((text) => text !== "");
    const secrets = [...known, ...sent.map((text) => text.replace("Bearer ", ""))];
    // Where only one word fits, each fault uses another secret.
    return { text: [...secrets, ...sent].join(" "), word: secrets[index % secrets.length] ?? "" };
  };
  const options = { call, credentials, signingKey: privateKey, tokens: tokensOf, told, on };
  return playCell(fixture, fault, kind, "always", options);
}

/** Every way in which an error, an event or the client itself gets into a log. */
function textsOf({ error, client }: Observation, events: readonly unknown[]): Shown[] {
  const printed = (what: string, value: unknown): Shown[] => [
    { where: `inspected ${what}`, text: inspect(value, { depth: 10, showHidden: false }) },
    { where: `JSON of ${what}`, text: JSON.stringify(value) ?? "" },
    { where: `text of ${what}`, text: String(value) },
  ];
  const texts = [...printed("client", client), ...events.flatMap((event) => printed("event", event))];
  let what = "error";
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    texts.push(...printed(what, at), { where: `message of ${what}`, text: at.message });
    texts.push({ where: `stack of ${what}`, text: at.stack ?? "" });
    what = `cause of ${what}`;
  }
  return texts;
}

function captureOutput(lines: string[]): () => void {
  const methods = ["log", "info", "warn", "error", "debug", "trace"] as const;
  const before = methods.map((method) => [method, console[method]] as const);
  for (const method of methods)
    console[method] = (...values: unknown[]) => void lines.push(inspect(values, { depth: 10 }));
  const onWarning = (warning: Error) => void lines.push(inspect(warning));
  process.on("warning", onWarning);
  return () => {
    for (const [method, original] of before) console[method] = original;
    process.off("warning", onWarning);
  };
}
