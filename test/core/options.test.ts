import {
  BrowserLogin,
  CrossBorderClient,
  ServerLogin,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "cross-border-payments";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import { createSandbox, startSandbox } from "cross-border-payments/sandbox";
import { verifyFundsFunctions, verifyJournal, verifyTokenStore } from "cross-border-payments/testing";
import { PostgresTokenStore } from "cross-border-payments/tokens/postgres";
import { RedisTokenStore } from "cross-border-payments/tokens/redis";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { type CheckTable, isBoolean, isPositiveInteger, parseOptions, withDefaults } from "../../src/core/parse.js";

interface Options {
  readonly name: string;
  readonly size?: number | undefined;
  readonly fast?: boolean | undefined;
  readonly password?: string | undefined;
}

const table = {
  name: {
    accepts: (value) => typeof value === "string" && value !== "",
    expected: "a name",
    isRequired: true,
  },
  size: { accepts: isPositiveInteger, expected: "a whole number above 0", default: 10 },
  fast: { accepts: isBoolean, expected: "true or false", default: true },
  password: {
    accepts: (value) => typeof value === "string" && value.length >= 12,
    expected: "a password of 12 characters or more",
  },
} satisfies CheckTable<Options>;

const check = (given: unknown) => () =>
  parseOptions(table, given, "the client's options", (message) => new InvalidArgumentError(message), " (ask no more)");

describe("options against their table", () => {
  it("pass if each is what it must be, and if those that may be left out are", () => {
    expect(check({ name: "a", size: 1, fast: false, password: "twelve letters" })).not.toThrow();
    expect(check({ name: "a" })).not.toThrow();
    expect(check({ name: "a", size: undefined })).not.toThrow();
  });

  it("must be an object", () => {
    expect(check([])).toThrow(new InvalidArgumentError("the client's options must be an object; got an array"));
  });

  it.each(["colour", "constructor"])("that do not exist are refused, with those that do: %s", (name) => {
    expect(check({ name: "a", [name]: undefined })).toThrow(
      new InvalidArgumentError(
        `unknown option ${JSON.stringify(name)}; the options are name, size, fast, password (ask no more)`,
      ),
    );
  });

  it.each([
    ["timeout", "timeoutMs"],
    ["timeoutsM", "timeoutMs"],
    ["maxRetry", undefined],
  ])("that do not exist are told with the one that was probably meant: %s", (name, meant) => {
    const any = { accepts: () => true, expected: "" };
    const suggested = () =>
      parseOptions({ timeoutMs: any, maxRetries: any }, { [name]: 1 }, "it", (message) => new Error(message));
    const advice = meant === undefined ? "; the options are " : `. Did you mean "${meant}"?`;
    expect(suggested).toThrow(`unknown option "${name}"${advice}`);
  });

  it("that are required can't be left out", () => {
    expect(check({})).toThrow(new InvalidArgumentError("name must be a name; got undefined"));
  });

  it.each([
    ["a number", { size: -0.5 }, "size must be a whole number above 0; got -0.5"],
    ["a string", { password: "hunter22" }, "password must be a password of 12 characters or more; got a string"],
    ["an object", { fast: { password: "hunter22" } }, "fast must be true or false; got an object"],
  ])("are refused with what was found; %s shows no secret", (_, wrong, message) => {
    expect(check({ name: "a", ...wrong })).toThrow(new InvalidArgumentError(message));
  });
});

it("defaults stand if nothing is given, or undefined, and give way to false and 0", () => {
  const refuse = (message: string) => new Error(message);
  const parsed = parseOptions<Options>(table, { name: "a", size: undefined }, "it", refuse);
  expect(withDefaults(table, parsed)).toEqual({ name: "a", size: 10, fast: true });
  const given = { name: "", size: 0, fast: false, password: "" };
  expect(withDefaults<Options, typeof table>(table, given)).toEqual(given);
});

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
  ["hooks", () => new CrossBorderClient({ baseUrl, auth: { accessToken: () => "" }, on: misspelt })],
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
