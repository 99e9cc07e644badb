import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { program } from "./support/program.js";
import { some } from "./support/thorough.js";

const examples = readdirSync("examples").filter((file) => file.endsWith(".ts"));

/** What each example has to print, besides ending well: at first what most people begin with. */
const prints: Readonly<Record<string, RegExp>> = {
  "two-step-payment.ts": /Ada Sender pays 100\.28 to Baraka Receiver, at 0\.0067\npaid: 100\.28 EUR/,
  "paging-with-stored-cursor.ts": /^5 new payments\n3 new payments$/m,
  "test-with-sandbox.test.ts": /(?:#|ℹ) pass 3\n(?:#|ℹ) fail 0/,
  "backend-start-up.ts": /"event":"token"[\s\S]*"event":"ready","gateways":\["alpha-bank","beta-mobile"\]/,
  "share-session.ts":
    /^the first process obtained a token \(password\), shared: true\n(?:the \w+ process sees 2 gateways\n){3}token requests: 1$/m,
  "log-users-in.ts":
    /^nobody is logged in: sent to \/login\n[\s\S]*logged in: \{"user":"gateway"[\s\S]*login_state_mismatch[\s\S]*ended the session: sent to \/login\nafter a new login: 200\nlogged out: sent to \/login$/m,
  "pay-in-lambdas.ts":
    /^\{"key":"1","status":"paid"\}\n\{"key":"1","status":"paid"\}\n\{"key":"2","status":"pending"\}\n\{ '2': 'paid' \}\npayments: 2, logins: 1$/m,
  "prices-in-worker.ts":
    /^200 \{"sender":"Ada Sender","receiver":"Baraka Receiver","toPay":"100\.28 EUR"[\s\S]*\n400 \{"error":"invalid_argument"[\s\S]*\n200 \{"payments":\[\{"id":"[^"]+","receiver":"Baraka Receiver","amount":"15000\.00 KES","status":"pending"\}\]/m,
  "watch-payments.ts":
    /^created TX-1 pending\nchanged TX-1 reverted\nnever paid: TX-2\ndifferent: [\s\S]*here: 'processed',\s+there: 'reverted'/m,
  "onboard-gateway.ts": /renamed to Gamma Wallet Ltd\n.*registered public key: true/,
  "record-deposit.ts": /deposit of 5000000\.00 KES recorded; signature valid: true/,
  "verify-stored-payment.ts": /ALPHA-TX-1: genuine true, with another amount false/,
  "test-with-msw.test.ts": /(?:#|ℹ) pass 2\n(?:#|ℹ) fail 0/,
};

it("knows what every example has to print", () => {
  expect(Object.keys(prints).sort()).toEqual(examples.sort());
});

it.each(some(Object.keys(prints), 4))("%s runs as it is", (file) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, program(`examples/${file}`), {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
  });
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toMatch(prints[file] ?? /^$/);
});
