import {
  BrowserLogin,
  CrossBorderClient,
  ServerLogin,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "cross-border-payments";
import { MemoryJournal } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import { createSandbox, startSandbox } from "cross-border-payments/sandbox";
import { verifyFundsFunctions, verifyJournal, verifyTokenStore } from "cross-border-payments/testing";
import { PostgresTokenStore } from "cross-border-payments/tokens/postgres";
import { RedisTokenStore } from "cross-border-payments/tokens/redis";
import { expect, it } from "vitest";

const baseUrl = "https://service.test";
// Options that the types know nothing of.
const misspelt = { colour: 1 } as never;
const nothing = {} as never;
const api = { context: {}, metrics: {}, propagation: {}, trace: {} } as never;

/** What takes options, each with one that there is not. */
const inputs: readonly (readonly [string, () => unknown])[] = [
  ["a client", () => new CrossBorderClient(misspelt)],
  ["auth", () => new CrossBorderClient({ baseUrl, auth: misspelt })],
  ["auth with a session", () => new CrossBorderClient({ baseUrl, auth: { refreshToken: "", colour: 1 } as never })],
  [
    "auth with a function",
    () => new CrossBorderClient({ baseUrl, auth: { accessToken: () => "", colour: 1 } as never }),
  ],
  ["tls", () => new CrossBorderClient({ baseUrl, auth: { accessToken: () => "" }, tls: misspelt })],
  ["appInfo", () => new CrossBorderClient({ baseUrl, auth: { accessToken: () => "" }, appInfo: misspelt })],
  ["a ServerLogin", () => new ServerLogin(misspelt)],
  ["a BrowserLogin", () => new BrowserLogin(misspelt)],
  ["a RedisTokenStore", () => new RedisTokenStore(misspelt)],
  ["a PostgresTokenStore", () => new PostgresTokenStore(misspelt)],
  ["the SQL of a PostgresTokenStore", () => PostgresTokenStore.schema(misspelt)],
  ["a PostgresJournal", () => PostgresJournal.open("postgresql://nowhere.test/a", misspelt)],
  ["the SQL of a PostgresJournal", () => PostgresJournal.schema(misspelt)],
  ["a SqliteJournal", () => SqliteJournal.open(":memory:", misspelt)],
  ["a MemoryJournal", () => new MemoryJournal(misspelt)],
  ["a sandbox", () => createSandbox(misspelt)],
  ["the credentials of a sandbox", () => createSandbox({ credentials: misspelt })],
  ["a sandbox's server", () => startSandbox(misspelt)],
  ["verifyJournal", () => verifyJournal(nothing, misspelt)],
  ["verifyTokenStore", () => verifyTokenStore(nothing, misspelt)],
  ["verifyFundsFunctions", () => verifyFundsFunctions(misspelt)],
  ["verifyPaymentRecord", () => verifyPaymentRecord(nothing, misspelt)],
  ["verifyDepositRecord", () => verifyDepositRecord(nothing, misspelt)],
  ["openTelemetry", () => openTelemetry(api, misspelt)],
];

it.each(inputs)("refuses an option of %s that there is not, and names those that there are", async (_, open) => {
  await expect(async () => await open()).rejects.toMatchObject({
    code: expect.stringMatching(/^invalid_(?:config|argument)$/),
    message: expect.stringMatching(/unknown option "colour"; the options are \w+/),
  });
});
