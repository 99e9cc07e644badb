import { expect, it } from "vitest";
import { run } from "./installed-package.js";

const bothCopies = `
  import { createRequire } from "node:module";
  import * as imported from "cross-border-payments";
  import * as importedFlow from "cross-border-payments/flow";
  import { createSandbox } from "cross-border-payments/sandbox";
  const require = createRequire(import.meta.url);
  const required = require("cross-border-payments");
  const requiredFlow = require("cross-border-payments/flow");
  const thrown = (work) => { try { work(); } catch (error) { return error; } };
`;

it("knows every class of its errors in the copy for import and the copy for require", () => {
  const script = `${bothCopies}
    const details = { code: "c", response: { status: 400, headers: {}, text: "" }, request: { path: "/", body: "" } };
    const errorClasses = (copy) =>
      Object.entries(copy).filter(([, value]) => typeof value === "function" && value.prototype instanceof Error);
    const esm = { ...imported, ...importedFlow };
    const cjs = { ...required, ...requiredFlow };
    const extendsClass = (name, other) => name === other || esm[name].prototype instanceof esm[other];
    const wrong = [];
    for (const [one, other] of [[esm, cjs], [cjs, esm]]) {
      for (const [name, Class] of errorClasses(one)) {
        if (other[name] === Class) wrong.push("one copy of " + name);
        const error = new Class("text", details);
        for (const [otherName, Other] of errorClasses(other)) {
          if (error instanceof Other !== extendsClass(name, otherName)) wrong.push(name + " against " + otherName);
        }
      }
    }
    console.log(errorClasses(esm).length >= 20, errorClasses(cjs).length >= 20, wrong.join());`;
  expect(run("errors.mjs", script)).toBe("true true");
});

it("has one set of errors for all entry points by require", () => {
  const script = `
    const { ConfigError, CrossBorderError, ApiError, InvalidArgumentError } = require("cross-border-payments");
    const { createSandbox } = require("cross-border-payments/sandbox");
    const { MemoryJournal, PaymentFlow, JournalError } = require("cross-border-payments/flow");
    const { verifyJournal } = require("cross-border-payments/testing");
    const thrown = (work) => { try { work(); } catch (error) { return error; } };
    const bySandbox = thrown(() => createSandbox({ maxSize: 0 }));
    const byFlow = thrown(() => new PaymentFlow({}));
    console.log(
      [bySandbox, byFlow].map((error) => error instanceof ConfigError && error instanceof CrossBorderError).join(),
      bySandbox instanceof ApiError, JournalError.prototype instanceof CrossBorderError, new JournalError("x") instanceof CrossBorderError,
    );`;
  expect(run("entry-points.cjs", script)).toBe("true,true false true true");
});

it("takes a user who logged in by another copy", () => {
  const script = `${bothCopies}
    const sandbox = createSandbox();
    const { realm, clientId } = sandbox.credentials;
    const redirectUri = "https://bank.test/callback";
    const given = { authUrl: "https://b.test", realm, clientId, redirectUri, fetch: sandbox.fetch };
    for (const [logins, clients] of [[imported, required], [required, imported]]) {
      const login = new logins.ServerLogin(given);
      const { url, pending } = await login.begin();
      const { headers } = await sandbox.fetch(url, { method: "POST" });
      const auth = await login.finish(headers.get("location"), pending);
      const client = new clients.CrossBorderClient({ baseUrl: "https://a.test", auth, fetch: sandbox.fetch });
      console.log((await client.payments.list()).items.length);
      sandbox.revokeTokens("all");
      const error = await client.payments.list().catch((thrown) => thrown);
      console.log(error.code, error instanceof clients.TokenError);
    }`;
  expect(run("users.mjs", script).split("\n")).toEqual(["0", "session_ended true", "0", "session_ended true"]);
});

it.each([
  ["imported", "requiredFlow"],
  ["required", "importedFlow"],
  ["required", "requiredFlow"],
])("pays in a flow with a client of another copy: %s, %s", (clients, flows) => {
  const script = `${bothCopies}
    const sandbox = createSandbox();
    const { privateKey, publicKeyBase64 } = await imported.generateSigningKeyPair();
    const client = new ${clients}.CrossBorderClient({
      ...sandbox.clientOptions({ baseUrl: "https://a.test", authUrl: "https://b.test" }),
      fetch: sandbox.fetch,
      signingKey: privateKey,
    });
    for (const institutionId of ["alpha-bank", "beta-mobile"]) {
      await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64: publicKeyBase64 });
    }
    const { MemoryJournal, PaymentFlow } = ${flows};
    const flow = new PaymentFlow({
      client,
      journal: new MemoryJournal(),
      takeFunds: ({ key }) => ({ senderGatewayTransactionId: "TX-" + key, replayed: false }),
      releaseFunds: () => {},
    });
    const paid = await flow.run("order-1", {
      senderGatewayId: "alpha-bank", senderCurrency: "EUR", senderAccount: "DE-0001",
      receiverGatewayId: "beta-mobile", receiverCurrency: "EUR", receiverAccount: "KE-7002", receiverAmount: "1.50", memo: "fees",
    });
    const refused = await flow.run("order-2", { senderGatewayId: 5 }).catch((error) => error);
    console.log(paid.status, sandbox.payments.length, refused instanceof ${clients}.InvalidArgumentError);`;
  expect(run("flow.mjs", script)).toBe("paid 1 true");
});
