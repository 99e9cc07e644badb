import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { program } from "./support/program.js";
import { some } from "./support/thorough.js";

const examples = readdirSync("examples").filter((file) => file.endsWith(".ts"));

/** What each example has to print, besides ending well: at first what most people begin with. */
const prints: Readonly<Record<string, RegExp>> = {
  "two-step-payment.ts": /Ada Sender pays 100\.28 to Baraka Receiver, at 0\.0067\npaid: 100\.28 EUR/,
  "test-with-sandbox.test.ts": /(?:#|ℹ) pass 3\n(?:#|ℹ) fail 0/,
  "log-users-in.ts":
    /^nobody is logged in: sent to \/login\n[\s\S]*logged in: \{"user":"gateway"[\s\S]*login_state_mismatch[\s\S]*ended the session: sent to \/login\nafter a new login: 200\nlogged out: sent to \/login$/m,
  "pay-in-lambdas.ts":
    /^\{"key":"1","status":"paid"\}\n\{"key":"1","status":"paid"\}\n\{"key":"2","status":"pending"\}\n\{ '2': 'paid' \}\npayments: 2, logins: 1$/m,
  "watch-payments.ts":
    /^created TX-1 pending\nchanged TX-1 reverted\nnever paid: TX-2\ndifferent: [\s\S]*here: 'processed',\s+there: 'reverted'/m,
  "onboard-gateway.ts": /renamed to Gamma Wallet Ltd\n.*registered public key: true/,
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
