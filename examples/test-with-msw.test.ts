/** Testing your own code with MSW: the sandbox responds to every described path, and single responses are replaced. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { BadRequestError, CrossBorderClient } from "cross-border-payments";
import { createSandbox, mswHandlers } from "cross-border-payments/sandbox";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";

const baseUrl = "https://service.test/api";
const authUrl = "https://login.test";

const sandbox = createSandbox({ basePath: "/api" });
const msw = setupServer(...mswHandlers(sandbox, { http, baseUrl, authUrl }));

before(() => msw.listen({ onUnhandledRequest: "error" }));
afterEach(() => msw.resetHandlers());
after(() => msw.close());

// MSW sees `globalThis.fetch`, so the client is told to use it.
const client = new CrossBorderClient({
  baseUrl,
  auth: { authUrl, ...sandbox.credentials },
  fetch: (url, init) => fetch(url, init),
});

test("a provider is created and found again", async () => {
  const created = await client.liquidityProviders.create({
    firstName: "Lina",
    lastName: "Quid",
    email: "lina@example.com",
  });
  const { items } = await client.liquidityProviders.list({ filter: { lastName: "Quid" } });
  assert.equal(items[0]?.id, created.id);
});

test("a refusal of the service arrives with its own code", async () => {
  msw.use(
    http.post(`${baseUrl}/liquidity-providers`, () =>
      HttpResponse.json({ error: "email_taken", message: "there is a provider with that e-mail" }, { status: 400 }),
    ),
  );
  await assert.rejects(
    client.liquidityProviders.create({ email: "lina@example.com" }),
    (error) => error instanceof BadRequestError && error.serviceCode === "email_taken" && error.effect === "none",
  );
});
