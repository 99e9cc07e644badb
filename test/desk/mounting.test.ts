import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, createServer } from "node:http2";
import { text } from "node:stream/consumers";
import { deskListener } from "cross-border-payments/desk";
import { expect, it, onTestFinished } from "vitest";
import { deskFixture } from "./desk-fixture.js";

const why = "not made, ticket 4711";

it.each([
  ["an object", (form: string) => Object.fromEntries(new URLSearchParams(form))],
  [
    "an object that nests",
    (form: string) => ({ ...Object.fromEntries(new URLSearchParams(form)), more: { a: ["b"] } }),
  ],
  ["a text", (form: string) => form],
  ["bytes", (form: string) => Buffer.from(form)],
])("takes a form that a parser before it has read, as %s", async (_, parse) => {
  const before = async (incoming: IncomingMessage) => {
    if (incoming.method === "POST") Object.assign(incoming, { body: parse(await text(incoming)) });
  };
  const { ask, target, fieldsOf, proposalOf } = await deskFixture({ before });
  const form = { ...(await fieldsOf("s-olga", "propose")), action: "release", why };
  expect(await ask("s-olga", target, { form })).toMatchObject({ status: 303 });
  expect(await proposalOf()).toMatchObject({ action: "release", by: "Olga", why });
});

it("reads a form itself if a parser of something else has left an empty object", async () => {
  const { ask, target, fieldsOf } = await deskFixture({
    before: async (incoming) => Object.assign(incoming, { body: {} }),
  });
  const form = { ...(await fieldsOf("s-olga", "propose")), action: "release", why };
  expect(await ask("s-olga", target, { form })).toMatchObject({ status: 303 });
});

it("says that something has read the form before it", async () => {
  const { desk, errors, origin, target } = await deskFixture();
  const headers = { cookie: "session=s-olga", origin, "content-type": "application/x-www-form-urlencoded" };
  const request = new Request(origin + target, { method: "POST", headers, body: "do=propose" });
  await request.text();
  const { status } = await desk(request);
  expect([status, errors]).toEqual([500, [expect.objectContaining({ message: expect.stringContaining("was read") })]]);
});

it("is there over HTTP/2", async () => {
  const { desk, target } = await deskFixture({ origin: "http://desk.bank.example" });
  const listener = deskListener(desk);
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const session = connect(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const ask = async (authority: string) => {
    const stream = session.request({ ":authority": authority, ":path": target, cookie: "session=s-olga" });
    const [headers] = await once(stream, "response");
    return { status: headers[":status"], body: await text(stream) };
  };
  expect(await ask("desk.bank.example")).toMatchObject({
    status: 200,
    body: expect.stringContaining("You are <b>Olga"),
  });
  expect(await ask("evil.example")).toMatchObject({ status: 403 });
});
