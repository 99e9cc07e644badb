import { inspect } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type FieldTable, fieldKinds, kindOfField } from "../../src/api/fields.js";
import type { Operation, TypedOperation } from "../../src/api/operation.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { operations } from "../../src/resources/catalogue.js";
import { broken, errorOf, json, recordOf, type Step, scriptedClient } from "../http/scripted-transport.js";
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

/** One call as plain JavaScript can make it: a message that shows the value fails. */
async function expectHidden(row: Operation, input: object, secret: string, step: Step, more = {}) {
  const { events, client } = scriptedClient([step], { maxRetries: 0, ...more } satisfies Partial<HttpClientOptions>);
  const anyRow = row as TypedOperation<string, readonly string[], unknown, unknown>;
  const error = await errorOf(
    client.call(
      anyRow,
      row.path.parameters.map((_, index) => idOf(index)),
      input,
    ),
  );
  const told = Object.values(events).flatMap((hook) => hook.mock.calls);
  const texts = [error.message, error.stack, inspect(error, { depth: 10 }), JSON.stringify(error), inspect(told)];
  for (const text of texts) expect(text).not.toContain(secret);
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
      const error = await expectHidden(row, inputOf({ [field]: secret }), secret, repeating(field, secret));
      expect(error.code).toBe("http_400");
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
        await expectHidden(row, { body: { ...body, ...part } }, secret, broken);
    }),
    { numRuns: runs(10) },
  );
});

it.each(inResponses)("shows no $name when the response is not as described", async ({ row, field }) => {
  await fc.assert(
    fc.asyncProperty(value, fc.constantFrom("strict", "report"), async (secret, validation) => {
      const respond = (record: object) => json(row.verb === "list" ? [record] : record);
      const record = recordOf(row.record);
      const input = row.body === undefined ? {} : { body: bodyOf(row) };
      const strict = { validation: "strict" };
      await expectHidden(row, input, secret, respond({ ...record, [field]: [secret] }), strict);
      await expectHidden(row, input, secret, respond({ ...record, [field]: secret, id: 7 }), strict);
      await expectHidden(row, input, secret, { text: `{"${field}":"${secret}"`, broken: "cut-short" }, { validation });
    }),
    { numRuns: runs(10) },
  );
});
