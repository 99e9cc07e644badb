import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { deskFixture } from "./desk-fixture.js";

const fields = (form: string) => Object.fromEntries(new URLSearchParams(form));

it.each([
  ["an object", fields],
  ["an object that nests", (form: string) => ({ ...fields(form), more: { a: ["b"] } })],
  ["a text", (form: string) => form],
  ["bytes", (form: string) => Buffer.from(form)],
])("takes a form that a parser before it has read, as %s", async (_, parse) => {
  const before = async (incoming: IncomingMessage) => {
    if (incoming.method === "POST") Object.assign(incoming, { body: parse(await text(incoming)) });
  };
  const { post, proposal, proposalOf } = await deskFixture({ before });
  expect(await post("s-olga", await proposal())).toMatchObject({ status: 303 });
  expect(await proposalOf()).toMatchObject({ action: "release", by: "Olga", why: "ticket 4711" });
});

it("reads a form itself if a parser of something else has left an empty object", async () => {
  const before = async (incoming: IncomingMessage) => Object.assign(incoming, { body: {} });
  const { post, proposal } = await deskFixture({ before });
  expect(await post("s-olga", await proposal())).toMatchObject({ status: 303 });
});

it("tells on.error if a web-standard request was read before", async () => {
  const { desk, errors, origin, target } = await deskFixture();
  const headers = { cookie: "session=s-olga", origin, "content-type": "application/x-www-form-urlencoded" };
  const request = new Request(origin + target, { method: "POST", headers, body: "do=propose" });
  await request.text();
  expect([(await desk(request)).status, errors]).toEqual([500, [expect.any(TypeError)]]);
});
