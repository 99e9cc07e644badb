import { execFileSync, spawnSync } from "node:child_process";
import { sign } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { readLines } from "../../src/cli/settings.js";
import type { Payment } from "../../src/index.js";
import { startSandbox } from "../../src/sandbox/index.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { registeredClient, requestOf } from "./gateway-fixture.js";
import { run, terminalOf } from "./run.js";

const folder = temporaryFolder();
const keys = signingKeysOf("gateway");
const stranger = signingKeysOf("stranger");
let payment: Payment;
let deposit: object;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  await using server = await startSandbox();
  await using client = await registeredClient(server);
  const outcome = await client.pay(requestOf("1.50"), () => ({ senderGatewayTransactionId: "TX-1" }));
  if (outcome.status !== "paid") throw new Error("not paid");
  payment = outcome.payment;
  const provider = await client.liquidityProviders.create({ firstName: "L", lastName: "Q", email: "l@example.com" });
  deposit = await client.liquidityProviders.deposits(provider.id).create({
    ...{ paymentGatewayId: "beta-mobile", paymentGatewayTransactionId: "D-1", amount: "10.00", currency: "EUR" },
  });
  const trusted = { "alpha-bank": keys.publicKey, "beta-mobile": keys.publicKeyBase64 };
  writeFileSync(file("keys.json"), JSON.stringify(trusted));
  writeFileSync(file("alpha.pem"), keys.publicKey);
  writeFileSync(file("stranger.pem"), stranger.publicKey);
});

const lines = (...records: readonly unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join("");
const signed = (text: string, key = keys.privateKey) => sign("sha256", Buffer.from(text), key).toString("base64");
/** The payment as its gateway, or another, would have signed it. */
const signedWith = (more: Partial<Payment>, key?: string): Payment => {
  const record = { ...payment, ...more };
  const { creationRequestUrl, creationRequestBody } = record;
  return { ...record, creationRequestSignatureBase64: signed(creationRequestUrl + creationRequestBody, key) };
};

describe("verify", () => {
  const verify = (stdin: string, ...more: readonly string[]) =>
    run(["verify", "-", "--trusted-keys", file("keys.json"), ...more], { stdin });

  it.each<[what: string, write: (one: string, other: string) => string]>([
    ["line separators in its texts", (one, other) => `${one}\n${other}\n`],
    ["a byte order mark", (one, other) => `\ufeff${one}\n${other}\n`],
    ["Windows's line ends", (one, other) => `${one}\r\n${other}\r\n`],
    ["no line end at its end", (one, other) => `${one}\n${other}`],
  ])("finds genuine what the service stored, in a file that has %s", async (_, write) => {
    const memo = "f\u00fcr\u2028zwei\u2029Zeilen\u0085 \u{1f600}";
    const creationRequestBody = JSON.stringify({ ...JSON.parse(payment.creationRequestBody), memo });
    const records = [signedWith({ memo, creationRequestBody }), deposit].map((record) => JSON.stringify(record));
    writeFileSync(file("written.ndjson"), write(records[0] ?? "", records[1] ?? ""));
    const line = ["verify", file("written.ndjson"), "--trusted-keys", file("keys.json")];
    const stdout = "1 payment and 1 deposit checked: all are genuine\n";
    expect(await run(line)).toEqual({ code: 0, stderr: "", stdout });
  });

  it.each(["", "\n", "x", "a\nb\n", `für \u{1f600}\nzwei`])(
    "reads lines as they come, byte by byte: %j",
    async (text) => {
      const input = Readable.from([...Buffer.from(`\ufeff${text}`)].map((byte) => Buffer.from([byte])));
      const found: string[] = [];
      for await (const line of readLines("-", { ...terminalOf(), stdin: input })) found.push(line);
      expect(found).toEqual(text.split("\n").slice(0, /^$|\n$/.test(text) ? -1 : undefined));
    },
  );

  it("says of each line what is wrong with it", async () => {
    const forged = signedWith(
      { id: "p-6", creationRequestPublicKeyBase64: stranger.publicKeyBase64 },
      stranger.privateKey,
    );
    const stdin = [
      lines(payment, { ...payment, id: "p-2", senderAmount: "9.99" }),
      lines({ ...payment, id: "p-3", creationRequestBody: `${payment.creationRequestBody} ` }),
      "\nno JSON\n",
      lines({ id: "x" }, { ...payment, id: "p-4", senderGatewayId: "gamma" }),
      lines({ ...payment, id: "p-5", creationRequestSignatureBase64: undefined }, forged),
    ].join("");
    const { code, stdout } = await verify(stdin, "--json");
    const notSigned = "its signature was not made with its gateway's trusted key over the stored request";
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      {
        ...{ payments: 6, deposits: 0, failed: 7 },
        failures: [
          { line: 2, id: "p-2", problem: "its fields differ from the signed request" },
          { line: 3, id: "p-3", problem: notSigned },
          { line: 5, problem: expect.stringContaining("not a payment or a deposit in JSON") },
          { line: 6, id: "x", problem: expect.stringContaining("no creationRequestBody") },
          { line: 7, id: "p-4", problem: 'no trusted key of its gateway "gamma"' },
          { line: 8, id: "p-5", problem: expect.stringContaining("creationRequestSignatureBase64") },
          { line: 9, id: "p-6", problem: notSigned },
        ],
      },
    ]);
    const shown = await verify(lines({ ...payment, id: "p-2", senderAmount: "9.99" }));
    expect(shown.stdout).toMatchInlineSnapshot(`
      "line 1, p-2: its fields differ from the signed request
      1 payment and 0 deposits checked: 1 line failed
      "
    `);
  });

  it.each([
    ["stdin is not UTF-8", Buffer.from('{"memo":"f\u00fcr"}\n', "latin1"), undefined],
    ["stdin has no records", "\n\n", undefined],
    ["is not a JSON object of keys", "{}", "[]"],
    ['"alpha-bank": publicKey is text that is not PEM', "{}", '{ "alpha-bank": "?" }'],
  ])("can't verify, and says so: %s", async (said, stdin, trusted) => {
    writeFileSync(file("trusted.json"), trusted ?? "{}");
    const result = await run(["verify", "-", "--trusted-keys", file("trusted.json")], { stdin });
    expect(result).toEqual({ code: 3, stdout: "", stderr: expect.stringContaining(said) });
  });
});

describe("evidence", () => {
  const evidence = (id: string, record: object = payment, key = "alpha.pem") => {
    const stdin = lines({ ...payment, id: "another", senderGatewayTransactionId: "TX-0" }, record);
    return run(["evidence", id, "--from", "-", "--trusted-key", file(key)], { stdin });
  };

  it("can be checked by openssl alone", async () => {
    const { code, stdout } = await evidence("TX-1");
    const { howToCheck, signedBytes, ...facts } = JSON.parse(stdout);
    expect([code, facts]).toMatchObject([
      0,
      { isGenuine: true, record: payment, trustedFingerprint: facts.fingerprint },
    ]);
    expect(atob(signedBytes.base64)).toBe(payment.creationRequestUrl + payment.creationRequestBody);
    const cwd = mkdtempSync(join(folder, "check-"));
    const printed = execFileSync("sh", ["-ec", howToCheck.join("\n")], { cwd, encoding: "utf8" });
    expect(printed).toContain("Verified OK\n");
    expect(printed).toContain(`= ${facts.fingerprint}\n`);
    // Another body is found out.
    const other = ["printf %s hm > signed.bin", ...howToCheck.slice(1)].join("\n");
    expect(spawnSync("sh", ["-ec", other], { cwd, encoding: "utf8" }).stdout).toContain("Verification failure");
  });

  it("says that a payment is not genuine: another key, another amount", async () => {
    for (const result of [
      evidence("TX-1", payment, "stranger.pem"),
      evidence("TX-1", { ...payment, senderAmount: "9" }),
    ]) {
      const { code, stdout } = await result;
      expect([code, JSON.parse(stdout)]).toMatchObject([1, { isGenuine: false }]);
    }
  });

  it("shows no credential, and puts nothing of a record into a command line", async () => {
    const { stdout } = await evidence("TX-1", {
      ...{ ...payment, sender: { accountVerificationBearerToken: "a secret within" } },
      creationRequestSignatureBase64: "'; touch pwned; '",
      creationRequestBody: `${payment.creationRequestBody}'; touch pwned; '`,
    });
    const { record, howToCheck } = JSON.parse(stdout);
    expect(record.sender).toEqual({});
    expect(howToCheck.join("\n")).not.toContain("pwned");
  });

  it("fails where there is no such payment", async () => {
    const { code, stderr } = await evidence("TX-9");
    expect([code, stderr]).toEqual([3, expect.stringContaining('there is no payment "TX-9" among the records')]);
  });
});

describe("explain-signature", () => {
  const body = '{"amount":"1.50"}';
  const explain = (...more: readonly string[]) =>
    run(["explain-signature", "--path", "/v1/payments", "--body", "-", "--public-key", file("alpha.pem"), ...more], {
      stdin: body,
    });

  it("says what is wrong, and what to do", async () => {
    writeFileSync(file("signature.txt"), `${signed(`/payments${body}`)}\n`);
    const { code, stdout } = await explain("--signature-file", file("signature.txt"));
    const said = "The signature is wrong:\n\npath: signed with no base path (/v1)\n→ sign the path";
    expect([code, stdout]).toEqual([1, expect.stringContaining(said)]);
  });

  it("names the key that was used, and gives it all as JSON", async () => {
    const signature = signed(`/v1/payments${body}`, stranger.privateKey);
    const { code, stdout } = await explain("--signature", signature, "--other-key", file("stranger.pem"), "--json");
    const { isValid, findings, wantedDigest, found } = JSON.parse(stdout);
    expect({ code, isValid, findings }).toEqual({
      ...{ code: 1, isValid: false },
      findings: [{ aspect: "key", problem: expect.stringContaining("stranger.pem"), remedy: expect.any(String) }],
    });
    expect(found).toEqual({ hash: "sha256", digest: wantedDigest });
  });

  it("needs a signature", async () => {
    const { code, stderr } = await explain();
    expect([code, stderr]).toEqual([2, expect.stringContaining("--signature <text> or --signature-file <file> is")]);
  });
});
