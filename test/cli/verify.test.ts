import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { readLines } from "../../src/cli/files.js";
import type { Terminal } from "../../src/cli/terminal.js";
import { CrossBorderClient, type Payment, type SigningKeyPair } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { requestOf } from "./gateway-fixture.js";
import { run } from "./run.js";

const folder = temporaryFolder();
let keys: SigningKeyPair;
let payment: Payment;
let deposit: object;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  keys = signingKeysOf("gateway");
  const sandbox = createSandbox();
  const options = sandbox.clientOptions({ baseUrl: "https://service.test", authUrl: "https://login.test" });
  const client = new CrossBorderClient({ ...options, fetch: sandbox.fetch, signingKey: keys.privateKey });
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    const { publicKeyBase64: rsaPublicKeyBase64 } = keys;
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64 });
  }
  const outcome = await client.pay(requestOf("1.50"), () => ({ senderGatewayTransactionId: "TX-1" }));
  if (outcome.status !== "paid") throw new Error("not paid");
  payment = outcome.payment;
  const provider = await client.liquidityProviders.create({ firstName: "L", lastName: "Q", email: "l@example.com" });
  deposit = await client.liquidityProviders.deposits(provider.id).create({
    ...{ paymentGatewayId: "beta-mobile", paymentGatewayTransactionId: "D-1", amount: "10.00", currency: "EUR" },
    blockchainTransactionId: "",
  });
  const trusted = { "alpha-bank": keys.publicKey, "beta-mobile": keys.publicKeyBase64 };
  writeFileSync(file("keys.json"), JSON.stringify(trusted));
});

const stdinOf = (stdin: Readable) => ({ stdin }) as unknown as Terminal;
const lines = (...records: readonly unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join("");
const verify = (stdin: string, ...more: readonly string[]) =>
  run(["verify", "-", "--trusted-keys", file("keys.json"), ...more], { stdin });

it("finds what the service stored genuine", async () => {
  writeFileSync(file("records.ndjson"), lines(payment, deposit));
  const { code, stdout } = await run(["verify", file("records.ndjson"), "--trusted-keys", file("keys.json")]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "1 payment and 1 deposit checked: all are genuine\n" });
});

const allGenuine = { code: 0, stderr: "", stdout: "1 payment and 1 deposit checked: all are genuine\n" };

it.each<[what: string, write: (one: string, other: string) => string | Buffer]>([
  ["line separators in its texts", (one, other) => `${one}\n${other}\n`],
  ["a byte order mark", (one, other) => `\ufeff${one}\n${other}\n`],
  ["Windows's line ends", (one, other) => `${one}\r\n${other}\r\n`],
  ["a lone CR between its fields", (one, other) => `${one.replace(/,"/g, ',\r"')}\n${other}\n`],
  ["no line end at its end", (one, other) => `${one}\n${other}`],
])("finds genuine what has %s", async (_, write) => {
  const memo = "f\u00fcr\u2028zwei\u2029Zeilen\u0085 \u{1f600}";
  const body = JSON.stringify({ ...JSON.parse(payment.creationRequestBody), memo });
  const { signRequest } = await import("../../src/index.js");
  const signature = await signRequest({ path: payment.creationRequestUrl, body, key: keys.privateKey });
  const signed = { ...payment, memo, creationRequestBody: body, creationRequestSignatureBase64: signature };
  const [one, other] = [JSON.stringify(signed), JSON.stringify(deposit)];
  expect(one).toContain("\u2028");
  writeFileSync(file("written.ndjson"), write(one, other));
  expect(await run(["verify", file("written.ndjson"), "--trusted-keys", file("keys.json")])).toEqual(allGenuine);
});

it("reads what comes byte by byte", async () => {
  const bytes = Buffer.from(`\ufeff${lines({ ...payment, blank: "für \u{1f600}" }, deposit)}`);
  const input = Readable.from(Array.from(bytes, (byte) => Buffer.from([byte])));
  const found: string[] = [];
  for await (const line of readLines("-", { ...stdinOf(input) })) found.push(line);
  expect(`${found.join("\n")}\n`).toBe(bytes.toString().slice(1));
});

it.each([[""], ["\n"], ["x"], ["a\nb"], ["\ufeff"]])("reads the lines of %o", async (text) => {
  const found: string[] = [];
  for await (const line of readLines("-", stdinOf(Readable.from([Buffer.from(text)])))) found.push(line);
  expect(found).toEqual(
    text
      .replace("\ufeff", "")
      .replace(/\r?\n$/, "\n")
      .split(/\r?\n/)
      .slice(0, text.endsWith("\n") || text === "" || text === "\ufeff" ? -1 : undefined),
  );
});

it("can't say of what it can't read that it is not genuine", async () => {
  writeFileSync(
    file("latin1.ndjson"),
    Buffer.concat([Buffer.from(lines(payment)), Buffer.from('{"memo":"f\u00fcr"}\n', "latin1")]),
  );
  const line = ["verify", file("latin1.ndjson"), "--trusted-keys", file("keys.json")];
  expect(await run(line)).toMatchObject({ code: 3, stderr: expect.stringContaining("is not UTF-8") });
});

it("says of each line what is wrong with it", async () => {
  const stdin = [
    lines(payment, { ...payment, id: "p-2", senderAmount: "9.99" }),
    lines({ ...payment, id: "p-3", creationRequestBody: `${payment.creationRequestBody} ` }),
    "\nno JSON\n",
    lines({ id: "x" }, { ...payment, id: "p-4", senderGatewayId: "gamma" }),
    lines({ ...payment, id: "p-5", creationRequestSignatureBase64: undefined }),
  ].join("");
  const { code, stdout } = await verify(stdin, "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    payments: 5,
    deposits: 0,
    failed: 6,
    failures: [
      { line: 2, id: "p-2", problem: "its fields differ from the signed request" },
      {
        line: 3,
        id: "p-3",
        problem: "its signature was not made with its gateway's trusted key over the stored request",
      },
      { line: 5, problem: "not a record in JSON" },
      { line: 6, id: "x", problem: expect.stringContaining("no creationRequestBody") },
      { line: 7, id: "p-4", problem: 'no trusted key of its gateway "gamma"' },
      { line: 8, id: "p-5", problem: expect.stringContaining("creationRequestSignatureBase64") },
    ],
  });
  const shown = await verify(stdin);
  expect(shown.code).toBe(1);
  expect(shown.stdout).toContain("line 2, p-2: its fields differ from the signed request\n");
  expect(shown.stdout).toMatch(/5 payments and 0 deposits checked: 6 lines failed\n$/);
});

it("takes no key of the records themselves", async () => {
  const { privateKey, publicKeyBase64 } = signingKeysOf("stranger");
  const { signRequest } = await import("../../src/index.js");
  const { creationRequestUrl: path, creationRequestBody: body } = payment;
  const signature = await signRequest({ path, body, key: privateKey });
  const forged = {
    ...payment,
    creationRequestPublicKeyBase64: publicKeyBase64,
    creationRequestSignatureBase64: signature,
  };
  expect((await verify(lines(forged))).code).toBe(1);
});

it.each([
  ["is not a JSON object of keys", "[]"],
  ['"alpha-bank": publicKey is text that is not PEM', '{ "alpha-bank": "?" }'],
])("refuses trusted keys before it reads any record: %s", async (said, text) => {
  writeFileSync(file("bad.json"), text);
  const { code, stdout, stderr } = await run(["verify", "-", "--trusted-keys", file("bad.json")], {
    stdin: lines(payment),
  });
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain(said);
});

it("is not content with no records at all", async () => {
  const { code, stdout, stderr } = await verify("\n\n");
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain("stdin has no records");
});

describe("evidence", () => {
  const evidence = (id: string, record: object = payment, key = keys.publicKey) => {
    writeFileSync(
      file("some.ndjson"),
      lines({ ...payment, id: "another", senderGatewayTransactionId: "TX-0" }, record),
    );
    writeFileSync(file("alpha.pem"), key);
    return run(["evidence", id, "--from", file("some.ndjson"), "--trusted-key", file("alpha.pem")]);
  };

  it("can be checked by openssl alone", async () => {
    const { code, stdout } = await evidence("TX-1");
    expect(code).toBe(0);
    const { isGenuine, record, howToCheck, fingerprint, trustedFingerprint, signedBytes } = JSON.parse(stdout);
    expect(isGenuine).toBe(true);
    expect(record).toEqual(payment);
    expect(fingerprint).toBe(trustedFingerprint);
    expect(Buffer.from(signedBytes.base64, "base64").toString()).toBe(
      payment.creationRequestUrl + payment.creationRequestBody,
    );
    const cwd = mkdtempSync(join(folder, "check-"));
    const printed = execFileSync("sh", ["-ec", howToCheck.join("\n")], { cwd, encoding: "utf8" });
    expect(printed).toContain("Verified OK\n");
    expect(printed).toContain(`= ${fingerprint}\n`);
    // Another body is found out.
    const other = ["printf %s hm > signed.bin", ...howToCheck.slice(1)].join("\n");
    expect(spawnSync("sh", ["-ec", other], { cwd, encoding: "utf8" }).stdout).toContain("Verification failure");
  });

  it("finds an id however it is written", async () => {
    const id = "\u00dcberweisung/1 \u2028";
    const escaped = JSON.stringify({ ...payment, id })
      .replace("\u00dc", "\\u00dc")
      .replaceAll("/", "\\/");
    writeFileSync(file("escaped.ndjson"), `\ufeff${lines({ ...payment, id: "another" })}${escaped}\r\n`);
    writeFileSync(file("alpha.pem"), keys.publicKey);
    const line = ["evidence", id, "--from", file("escaped.ndjson"), "--trusted-key", file("alpha.pem")];
    const { code, stdout } = await run(line);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).record).toEqual({ ...payment, id });
  });

  it("says that a payment is not genuine: another key, another amount", async () => {
    const { publicKey } = signingKeysOf("stranger");
    for (const result of [evidence("TX-1", payment, publicKey), evidence("TX-1", { ...payment, senderAmount: "9" })]) {
      const { code, stdout } = await result;
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ isGenuine: false });
    }
  });

  it("shows no credential that stands within a record", async () => {
    const sender = { accountVerificationBearerToken: "a secret within" };
    const { code, stdout } = await evidence("TX-1", { ...payment, sender });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).record).toEqual({ ...payment, sender: {} });
  });

  it("puts nothing of a record into a command line", async () => {
    const creationRequestSignatureBase64 = "'; touch pwned; '";
    const creationRequestBody = `${payment.creationRequestBody}'; touch pwned; '`;
    const { stdout } = await evidence("TX-1", { ...payment, creationRequestSignatureBase64, creationRequestBody });
    const { howToCheck } = JSON.parse(stdout);
    expect(howToCheck.join("\n")).not.toContain("pwned");
  });

  it("fails where there is no such payment", async () => {
    const { code, stderr } = await evidence("TX-9");
    expect(code).toBe(3);
    expect(stderr).toContain('there is no payment "TX-9" among the records');
  });
});
