import { inspect } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type FieldTable, fieldKinds, kindOfField } from "../../src/api/fields.js";
import type { Operation, TypedOperation } from "../../src/api/operation.js";
import type { CrossBorderError } from "../../src/core/errors.js";
import { logListener } from "../../src/events/log-lines.js";
import { createReporter } from "../../src/events/reporter.js";
import type { HttpClient, HttpClientOptions } from "../../src/http/http-client.js";
import { operations } from "../../src/resources/catalogue.js";
import { WireFailure } from "../../src/wire/transport.js";
import { shownTexts } from "../core/shown-texts.js";
import { broken, calls, json, recordOf, type Step, scriptedClient } from "../http/scripted-transport.js";
import { runs } from "../support/thorough.js";

const idOf = (index: number) => `id-${index}`;

const confidentialFields = (fields: FieldTable): string[] =>
  Object.keys(fields).filter((name) => {
    const kind = kindOfField(fields, name);
    return kind !== undefined && fieldKinds[kind].isConfidential === true;
  });

/** A field that the caller sends, or that the service sends, where the row has it. */
interface Cell {
  readonly name: string;
  readonly row: Operation;
  readonly field: string;
}

const cellsOf = (fieldsOf: (row: Operation) => FieldTable): Cell[] =>
  [...operations.values()].flatMap((row) =>
    confidentialFields(fieldsOf(row)).map((field) => ({ name: `${field} of ${row.name}`, row, field })),
  );

const inBodies = cellsOf(({ body }) => body?.fields ?? {});
const inQueries = cellsOf(({ query, record }) => (query === "open" ? record : (query ?? {})));
const inResponses = cellsOf(({ verb, record }) => (verb === "update" ? {} : record));

/** What an account number, a name or a token may look like, and what they don't look like. Shorter values may be words of a message. */
const value = fc.oneof(
  fc.stringMatching(/^[A-Z]{2}\d{8,18}$/),
  fc.string({ unit: "grapheme", minLength: 4, maxLength: 12 }).map((text) => `§${text}§`),
);

const callOf = (row: Operation, input: object) => (client: HttpClient) => {
  const ids = row.path.parameters.map((_, index) => idOf(index));
  return client.call(row as TypedOperation<string, readonly string[], unknown, unknown>, ids, input);
};

/** Makes a call, and fails if its error, its events, or its lines in a log show the value. */
async function expectHidden(
  secret: string,
  call: (client: HttpClient) => PromiseLike<unknown>,
  steps: readonly Step[],
  more: Partial<HttpClientOptions> = {},
): Promise<CrossBorderError | undefined> {
  const told: unknown[] = [];
  const hear = (...given: unknown[]) => void told.push(given);
  const hooks = { response: hear, success: hear, failure: hear, retry: hear, mismatch: hear };
  const reporter = createReporter([logListener({ debug: hear, warn: hear, error: hear }), hooks]);
  const [outcome] = await Promise.allSettled([
    call(scriptedClient(steps, { maxRetries: 0, reporter, ...more }).client),
  ]);
  const error = outcome.status === "rejected" ? outcome.reason : undefined;
  expect(inspect(told, { depth: 10 }) + shownTexts(error)).not.toContain(secret);
  return error;
}

/** A refusal that repeats a value wherever it can. */
const repeating = (field: string, secret: string) => {
  const message = `bad ${field} ${secret}: ${field}=${secret}, "${field}":"${secret}" of ${secret}`;
  return json({ error: secret, code: secret, message }, 400, { "x-request-id": secret });
};

/** A body with every field, as it is described. */
const bodyOf = (row: Operation) => recordOf(row.body?.fields ?? {});

it("has cells: otherwise it would prove nothing", () => {
  expect(inBodies.map(({ name }) => name)).toContain("senderAccount of payments.create");
  expect(inQueries.map(({ name }) => name)).toContain("accountVerificationBearerToken of paymentGateways.list");
  expect(inResponses.map(({ name }) => name)).toContain("receiverName of paymentIntents.get");
});

it.each([
  ...inBodies.map((cell) => ({
    ...cell,
    of: "the body",
    inputOf: (part: object) => ({ body: { ...bodyOf(cell.row), ...part } }),
  })),
  ...inQueries.map((cell) => ({ ...cell, of: "a filter", inputOf: (part: object) => ({ query: part }) })),
])("shows no $name in $of that the service repeats", async ({ row, field, inputOf }) => {
  await fc.assert(
    fc.asyncProperty(value, async (secret) => {
      const error = await expectHidden(secret, callOf(row, inputOf({ [field]: secret })), [repeating(field, secret)]);
      expect(error?.code).toBe("http_400");
    }),
    { numRuns: runs(20) },
  );
});

it.each(inBodies)("shows no $name when the connection breaks, nor when the body is refused", async ({ row, field }) => {
  await fc.assert(
    fc.asyncProperty(value, async (secret) => {
      const body = bodyOf(row);
      for (const part of [
        { [field]: secret },
        { [field]: secret, colour: "red" },
        { [field]: [secret] },
        { [field]: { secret } },
      ])
        await expectHidden(secret, callOf(row, { body: { ...body, ...part } }), [broken]);
    }),
    { numRuns: runs(10) },
  );
});

it.each(inResponses)("shows no $name when the response is not as described", async ({ row, field }) => {
  await fc.assert(
    fc.asyncProperty(value, fc.constantFrom("strict" as const, "report" as const), async (secret, validation) => {
      const respond = (record: object) => json(row.verb === "list" ? [record] : record);
      const record = recordOf(row.record);
      const call = callOf(row, row.body === undefined ? {} : { body: bodyOf(row) });
      const strict = { validation: "strict" } as const;
      await expectHidden(secret, call, [respond({ ...record, [field]: [secret] })], strict);
      await expectHidden(secret, call, [respond({ ...record, [field]: secret, id: 7 })], strict);
      await expectHidden(secret, call, [{ text: `{"${field}":"${secret}"`, broken: "cut-short" }], { validation });
    }),
    { numRuns: runs(10) },
  );
});

/** Responses and failures of a service that repeats whatever it was sent, wherever it can. */
const echoes: readonly ((all: string) => Step)[] = [
  (all) => json({ error: all, code: all, message: all }, 400, { "x-request-id": all }),
  (all) => json({ error: all, message: all }, 503, { "x-request-id": all, "retry-after": "0" }),
  (all) => json({ error: "E", message: all }, 401, { "x-request-id": all }),
  (all) => json({ id: all, [all]: all, memo: 5, status: all }, 200, { "x-request-id": all }),
  (all) => json([{ id: all, [all]: all }], 200, { "x-request-id": all }),
  (all) => ({ status: 200, text: `<html>${all}`, headers: { "x-request-id": all } }),
  (all) => ({ status: 200, text: `{"id":"${all}`, broken: "cut-short" }),
  (all) => new WireFailure({ sent: true, reason: all }),
  (all) => new WireFailure({ sent: false, reason: all }),
];

const refund = { method: "POST", path: "/refunds/{id}", ids: ["1"], signed: true } as const;

it.each<[string, (secret: string, client: HttpClient) => PromiseLike<unknown>]>([
  ["token", (_, client) => calls.signed(client)],
  ["header", (secret, client) => calls.signed(client, { headers: { "x-api-key": secret } })],
  ["id", (secret, client) => client.request({ ...refund, ids: [secret] })],
  ["query", (secret, client) => client.request({ ...refund, query: { account: secret } })],
  ["text of a body", (secret, client) => client.request({ ...refund, body: { lines: [secret] } })],
  ["name in a body", (secret, client) => client.request({ ...refund, body: { [secret]: 1 } })],
])("shows no %s in an error, an event, or a line of a log, whatever the service repeats", async (what, call) => {
  const secrets = fc.stringMatching(/^[A-Z]{2}\d{8,18}$/);
  const script = fc.array(fc.constantFrom(...echoes), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(secrets, script, async (secret, script) => {
      const token = what === "token" ? secret : "token-1";
      const tokens = { current: () => token, renew: async () => `${token}-renewed` };
      const steps = script.map((echo) => echo(secret));
      await expectHidden(secret, (client) => call(secret, client), steps, { tokens, maxRetries: 2 });
    }),
    { numRuns: runs(100) },
  );
});
