import { CrossBorderClient, InvalidArgumentError } from "cross-border-payments";
import { beforeEach, describe, expect, it } from "vitest";
import { errorOf, recordOf } from "../http/scripted-transport.js";
import { bodyOf, callByName, everyOperation } from "../inputs/call-by-name.js";
import { signingKeysOf } from "../support/key-pairs.js";

const bodies: unknown[] = [];
beforeEach(() => {
  bodies.length = 0;
});
const client = new CrossBorderClient({
  ...{ baseUrl: "https://service.test", auth: { accessToken: () => "t" } },
  signingKey: signingKeysOf("gateway").privateKey,
  async fetch(_, { method, body }) {
    if (method !== "PUT") return Response.json([]);
    bodies.push(JSON.parse(Buffer.from(body as Uint8Array).toString()));
    return new Response(null);
  },
});

const updates = everyOperation.filter(({ verb }) => verb === "update");

describe.each(updates)("$name", (row) => {
  const fields = Object.keys(row.body?.fields ?? {});
  const [field = ""] = fields.filter((name) => row.record[name] === "text");
  const readOnly = Object.keys(row.record).filter((name) => !fields.includes(name));
  const update = (given: unknown) => Promise.resolve(callByName(client, row, given));

  it("takes the record as it was read, and leaves out what is not part of the body", async () => {
    const record = recordOf(row.record);
    await update({ ...record, [field]: "changed" });
    const expected = Object.fromEntries(fields.map((name) => [name, record[name]]));
    expect(bodies).toEqual([{ ...expected, [field]: "changed" }]);
    expect(readOnly).toContain("id");
  });

  it("leaves out nulls, and what is a field neither of the body nor of the record", async () => {
    const { [field]: _, ...record } = recordOf(row.record);
    await update({ ...record, [field]: null, colour: "red" });
    const expected = fields.filter((name) => name !== field).map((name) => [name, record[name]]);
    expect(bodies).toEqual([Object.fromEntries(expected)]);
  });

  it.each<[what: string, given: () => object, message: string]>([
    ["a field that is nearly a known one", () => ({ ...recordOf(row.record), [`${field}s`]: "x" }), "Did you mean"],
    ["a wrong value", () => ({ ...recordOf(row.record), [field]: true }), `${field} must be a string; got a boolean`],
    ["nothing to send", () => Object.fromEntries(readOnly.map((name) => [name, "x"])), "there is nothing to update"],
  ])("is refused with %s", async (_, given, message) => {
    const error = await errorOf(update(given()));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toContain(message);
    expect(bodies).toEqual([]);
  });
});

it.each(everyOperation.filter(({ verb, sendsBack }) => verb === "create" && !sendsBack))(
  "$name refuses the fields of its record that are not in its body",
  async (row) => {
    const [field = ""] = Object.keys(row.record).filter((name) => !Object.hasOwn(row.body?.fields ?? {}, name));
    const error = await errorOf(Promise.resolve(callByName(client, row, { ...bodyOf(row), [field]: "x" })));
    expect(error.message).toContain(`Unknown field "${field}"`);
  },
);

it("sends the ends of a transfer as they are in an update and in a filter, since records are open", async () => {
  const transfers = client.liquidityProviders.transfers("lp");
  await transfers.update("t", { from: "bank", to: "escrow" });
  expect(bodies).toEqual([{ from: "bank", to: "escrow" }]);
  expect((await transfers.list({ filter: { from: "bank" } })).items).toEqual([]);
});
