/**
 * Processes of the newest release and of this working tree work over one journal, as during a rolling deploy, and are killed and stopped. The
 * older release has the journal open when the newer one opens it, and migrates it:
 *
 *     npx tsx test/crash/versions.ts --flows 2000 --kills 200 --stops 50 --journal sqlite --seed 1
 */
import { buildWorkerOf, newestRelease } from "./build-worker.js";
import { describe, type KillsOptions, type KillsResult, runKills } from "./kills.js";
import { sayAll } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";

export async function runVersions(options: Omit<KillsOptions, "olderRelease">): Promise<KillsResult> {
  await using olderRelease = await buildWorkerOf(newestRelease);
  // Not before it has ended the script may be removed.
  return await runKills({ ...options, olderRelease });
}

async function main(): Promise<number> {
  const defaults = {
    flows: 1000,
    kills: 100,
    stops: 25,
    workers: 6,
    concurrency: 16,
    lease: 400,
    round: 100,
    parallel: 2,
  };
  const { round: flowsPerRound, lease: leaseMs, ...options } = scriptOptions(defaults);
  say(`seed ${options.seed}, journal ${options.kind}, older release ${newestRelease}`);
  const result = await runVersions({ ...options, flowsPerRound, leaseMs, onProgress: say });
  return sayAll(result, describe(result));
}

if (isScript(import.meta.url)) process.exitCode = await main();
