import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { project } from "./installed-package.js";

/** What is drawn while a snapshot is built makes Node keep random bytes in it. */
const program = `
  const { CrossBorderClient, generateSigningKeyPair } = require("cross-border-payments");
  const { MemoryJournal, PaymentFlow } = require("cross-border-payments/flow");
  crypto.randomUUID();
  require("node:v8").startupSnapshot.setDeserializeMainFunction(async () => {
    const sandbox = require("cross-border-payments/sandbox").createSandbox();
    const options = sandbox.clientOptions({ baseUrl: "https://a.test", authUrl: "https://b.test" });
    const { privateKey: signingKey, publicKeyBase64 } = await generateSigningKeyPair();
    const client = new CrossBorderClient({ ...options, fetch: sandbox.fetch, signingKey });
    for (const institutionId of ["alpha-bank", "beta-mobile"]) {
      await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64: publicKeyBase64 });
    }
    const journal = new MemoryJournal();
    const takeFunds = () => ({ senderGatewayTransactionId: "TX", replayed: false });
    const flow = new PaymentFlow({ client, journal, takeFunds, releaseFunds() {} });
    await flow.quote("k", {
      senderGatewayId: "alpha-bank", senderCurrency: "EUR", senderAccount: "DE-0001",
      receiverGatewayId: "beta-mobile", receiverCurrency: "EUR", receiverAccount: "KE-7002", receiverAmount: "1.50", memo: "fees",
    });
    const { owner, nonce } = await journal.read("k");
    console.log(JSON.stringify([owner, nonce]));
  });`;

it("gives each process that starts from a snapshot ids of its own", async () => {
  const [bundle, blob] = ["snapshot.cjs", "snapshot.blob"].map((name) => join(project, name)) as [string, string];
  const stdin = { contents: program, resolveDir: project };
  await build({ stdin, bundle: true, platform: "node", outfile: bundle, logLevel: "silent" });
  const node = (...given: string[]) =>
    execFileSync(process.execPath, ["--no-warnings", "--snapshot-blob", blob, ...given], { encoding: "utf8" });
  node("--build-snapshot", bundle);
  const drawn = [node("main"), node("main")].flatMap((told) => JSON.parse(told) as string[]);
  expect(drawn).toHaveLength(4);
  expect(new Set(drawn).size, drawn.join(" ")).toBe(4);
});
