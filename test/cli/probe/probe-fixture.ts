import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Value } from "../../../src/cli/probe/answer.js";
import type { Report } from "../../../src/cli/probe/report.js";
import { signRequest } from "../../../src/index.js";
import { type SandboxServer, type SandboxServerOptions, startSandbox } from "../../../src/sandbox/index.js";
import { signingKeysOf } from "../../support/key-pairs.js";
import { type CommandResult, run } from "../run.js";

/** A sandbox with payments, and the files of a user who probes it. */
export interface ProbeFixture extends AsyncDisposable {
  readonly server: SandboxServer;
  readonly file: (name: string) => string;
  /** Runs `probe --json`. */
  readonly probe: (
    line?: readonly string[],
    more?: Parameters<typeof run>[1],
  ) => Promise<CommandResult & { readonly report: Report }>;
  /** Makes a further payment, as others do. */
  readonly pay: () => Promise<void>;
  /** Options of a run that makes payments. */
  readonly writes: readonly string[];
}

export const intent = {
  ...{ senderGatewayId: "alpha-bank", senderAccount: "DE-1001-77", senderCurrency: "EUR" },
  ...{ receiverGatewayId: "beta-mobile", receiverAccount: "KE-7001-88", receiverCurrency: "EUR" },
  ...{ receiverAmount: "1.00", memo: "probe" },
};

/** @param payments how many there are before it is probed. */
export async function openProbe(options: SandboxServerOptions = {}, payments = 12): Promise<ProbeFixture> {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-probe-"));
  const file = (name: string) => join(folder, name);
  const server = await startSandbox(options);
  const { baseUrl, auth } = server.clientOptions;
  const keys = signingKeysOf("gateway");
  writeFileSync(file("key.pem"), keys.privateKey);
  writeFileSync(file("intent.json"), JSON.stringify(intent));
  writeFileSync(file("config.json"), JSON.stringify({ baseUrl, ...auth, signingKey: file("key.pem") }));
  const pay = await seed(server, options, payments, keys);
  // Until all of it is listed.
  const { listedAfterMs = 0, replicaLagMs = 0 } = options.quirks ?? {};
  await new Promise((resolve) => setTimeout(resolve, listedAfterMs + replicaLagMs));
  return {
    server,
    file,
    pay,
    writes: ["--write", "--yes", "--intent", file("intent.json")],
    async probe(line = [], more = {}) {
      const result = await run(["probe", "--config", file("config.json"), "--json", ...line], more);
      const report = (result.stdout.startsWith("{") ? JSON.parse(result.stdout) : { questions: [] }) as Report;
      return { ...result, report };
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

type Keys = ReturnType<typeof signingKeysOf>;

/** Gateways, a provider and payments, made as this very service takes them. */
async function seed(server: SandboxServer, options: SandboxServerOptions, payments: number, keys: Keys) {
  const { baseUrl, authUrl, sandbox } = server;
  const { username, password, clientId } = sandbox.credentials;
  let bearer = "";
  const logIn = async () => {
    const form = new URLSearchParams({ grant_type: "password", username, password, client_id: clientId });
    const response = await fetch(new URL(sandbox.tokenPath, authUrl), { method: "POST", body: form });
    bearer = `Bearer ${((await response.json()) as { access_token: string }).access_token}`;
  };
  const post = async (path: string, body: object, signedPath?: string): Promise<object> => {
    const text = JSON.stringify(body);
    // Tokens of some services are short-lived.
    await logIn();
    const signature = signedPath && (await signRequest({ key: keys.privateKey, path: signedPath, body: text }));
    const headers = { authorization: bearer, "content-type": "application/json" };
    const response = await fetch(baseUrl + path, {
      ...{ method: "POST", body: text },
      headers: signature ? { ...headers, "x-service-signature-base64": signature } : headers,
    });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as object;
  };
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await post("/payment-gateways", {
      ...{ institutionId, currency: "EUR", rsaPublicKeyBase64: keys.publicKeyBase64 },
      ...{ website: `https://${institutionId}.example`, accountVerificationBearerToken: "a-token-of-theirs" },
    });
  }
  await post("/liquidity-providers", { firstName: "Lena", lastName: "Quist", email: "lena@example.org" });
  const basePath = options.quirks?.signedPath === "withoutBase" ? "" : (options.basePath ?? "");
  let index = 0;
  const pay = async () => {
    // Two requests a payment would reach every second machine only.
    if (index % 2 === 1) await fetch(`${baseUrl}/payments`, { headers: { authorization: bearer } });
    const made = await post("/payment-intents", intent);
    const transaction = { senderGatewayTransactionId: `seed-${index++}` };
    await post("/payments", { ...made, ...transaction }, `${basePath}/payments`);
  };
  while (index < payments) await pay();
  return pay;
}

/** The value of each question that has an answer; of the others, why not. */
export function valuesOf({ questions }: Report): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    questions.map(({ id, value, status, says }) => [id, value === undefined ? `${status}: ${says}` : value]),
  );
}
