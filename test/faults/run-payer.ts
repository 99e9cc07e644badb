import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { PayerPlan, StopRequest, Told } from "./idle-payer.js";

/** Runs a process that pays, stops it where its plan says so, and returns what its callers were told. */
export function runPayer(plan: PayerPlan): Promise<Told> {
  const payer = fork(fileURLToPath(new URL("idle-payer.ts", import.meta.url)), [JSON.stringify(plan)], {
    execArgv: ["--import", "tsx"],
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
  });
  const stop = async (stopMs: number): Promise<void> => {
    payer.kill("SIGSTOP");
    await sleep(stopMs);
    payer.send("go on");
    payer.kill("SIGCONT");
  };
  return new Promise((resolve, reject) => {
    payer.on("message", (message: Told | StopRequest) => {
      if ("stopMs" in message) void stop(message.stopMs);
      else resolve(message);
    });
    payer.once("error", reject);
    payer.once("exit", (code) => reject(new Error(`the payer ended with ${code}`)));
  });
}
