import { execFile } from "node:child_process";
import { expect, it } from "vitest";

it("takes flows of processes that are killed and stopped for behaviours of the specification", async () => {
  expect(await run("--flows", "120", "--kills", "24", "--stops", "6", "--lease", "1000")).toContain(
    "all are behaviours of spec/flow.tla",
  );
});

it("finds flows of real processes that are none, without a look before the money is given back", async () => {
  const rule = "after a definite no the payment is looked for before the money is given back";
  const found = "no behaviour of spec/flow.tla";
  const few = ["--flows", "60", "--kills", "6", "--stops", "1", "--lease", "1000"];
  let output = "";
  // Whether a payment is refused is chance: a run without one shows nothing.
  for (let seed = 5; seed < 10 && !output.includes(found); seed += 1)
    output = await run(...few, `--seed=${seed}`, "--without", rule);
  expect(output).toContain(found);
  expect(output).toMatch(/^\* .*phase \|-> "refused"/m);
});

function run(...options: readonly string[]): Promise<string> {
  const script = ["--import", "tsx", "test/spec/traces-of-kills.ts", ...options];
  return new Promise((resolve) => {
    execFile(process.execPath, script, { maxBuffer: 2 ** 26 }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}
