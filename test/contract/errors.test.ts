import { inspect } from "node:util";
import { BadRequestError, type CrossBorderClient, operationNames } from "cross-border-payments";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { intentRequest } from "../support/corridor.js";
import { errorOf } from "../support/error-of.js";
import { type PreparedCalls, prepareCalls } from "./calls.js";
import { grantsIn, type Harness, type HarnessOptions, harnesses } from "./harness.js";

const refusal = { error: "not_now", message: "Not now" };

describe.each(harnesses)("$name", ({ open }) => {
  let harness: Harness;
  /** A client that has no token yet. */
  let client: CrossBorderClient;
  let call: PreparedCalls["call"];
  let respond: HarnessOptions["onRequest"];
  beforeAll(async () => {
    let close = async () => {};
    harness = await open({ onRequest: (request) => respond?.(request) }, (closing) => {
      close = closing;
    });
    ({ call } = await prepareCalls(harness.payer()));
    return close;
  });
  beforeEach(() => {
    respond = undefined;
    client = harness.payer();
  });

  it.each(operationNames)("reads the 400 of %s", async (name) => {
    const { error, message } = refusal;
    const body = name.endsWith(".get") ? { code: error, message } : refusal;
    respond = (request) => (request.name === name ? Response.json(body, { status: 400 }) : undefined);
    const sent = harness.requests.length;
    const thrown = await errorOf(call(name, {}, client));
    expect(thrown).toBeInstanceOf(BadRequestError);
    expect(thrown).toMatchObject({
      operation: name,
      serviceCode: "not_now",
      serviceMessage: "Not now",
      effect: "none",
    });
    expect(harness.requests.slice(sent).filter((request) => request.name === name)).toHaveLength(
      // Without the order that the client adds, it asks for payments again.
      name === "payments.list" ? 2 : 1,
    );
  });

  it.each(operationNames)("repeats %s with a new token after a 401, once", async (name) => {
    let refusals = 1;
    respond = (request) => (request.name === name && refusals-- > 0 ? new Response(null, { status: 401 }) : undefined);
    const grants = grantsIn(harness).length;
    await call(name, {}, client);
    expect(grantsIn(harness).slice(grants)).toEqual(["password", "refresh_token"]);
  });

  it("keeps account numbers that the service repeats out of its errors", async () => {
    respond = ({ name, body }) =>
      name === "paymentIntents.create"
        ? Response.json({ error: "invalid", message: `can't take ${body}` }, { status: 400 })
        : undefined;
    const request = { ...intentRequest, senderAccount: "DE89370400440532013000", receiverAccount: "KE-SECRET-77" };
    const error = await errorOf<BadRequestError>(client.paymentIntents.create(request));
    const shown = [inspect(error, { depth: 9 }), JSON.stringify(error), String(error.stack)].join();
    expect(error.serviceMessage).toContain("can't take");
    expect(shown).not.toMatch(/DE89370400440532013000|KE-SECRET-77/);
  });

  it("shows no secret when the client itself is printed", async () => {
    await client.liquidityProviders.list();
    const shown = inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client);
    expect(shown).not.toContain(harness.options.auth.password);
    expect(shown).not.toMatch(/Bearer|[\w-]{32}/);
  });
});
