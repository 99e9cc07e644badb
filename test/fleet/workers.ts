import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PasswordAuth, TokenEvent } from "cross-border-payments";

export interface WorkerOptions {
  readonly baseUrl: string;
  readonly auth: PasswordAuth;
  /** `redis://…` or `postgresql://…` */
  readonly storeUrl: string;
  /** In Base64. */
  readonly encryptionKey: string;
  /** One call at once, and then one every `everyMs` for `forMs`. Default: that one only. */
  readonly everyMs?: number;
  readonly forMs?: number;
  /** Whether the process kills itself with the lock and the mark, before it sends the refresh. */
  readonly diesAfterMark?: boolean;
}

/** What a process reports. */
export interface WorkerReport {
  readonly calls: number;
  readonly failures: readonly { readonly code: string; readonly message: string }[];
  readonly tokens: readonly TokenEvent[];
}

/** Of a process that was killed: undefined. */
export function runWorker({ everyMs = 1000, forMs = 0, ...options }: WorkerOptions): Promise<WorkerReport | undefined> {
  const path = fileURLToPath(new URL("worker.mjs", import.meta.url));
  const env = { ...process.env, CBP_FLEET_WORKER: JSON.stringify({ everyMs, forMs, ...options }) };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [path], { env, maxBuffer: 2 ** 24 }, (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout) as WorkerReport);
      else if (error.signal === "SIGKILL") resolve(undefined);
      else reject(error);
    });
  });
}

/** Many processes, at most `atOnce` of them at a time. */
export async function runWaves(
  count: number,
  atOnce: number,
  options: WorkerOptions,
): Promise<(WorkerReport | undefined)[]> {
  const reports: (WorkerReport | undefined)[] = [];
  let started = 0;
  const lane = async (): Promise<void> => {
    while (started < count) {
      started += 1;
      reports.push(await runWorker(options));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return reports;
}

/** Calls and failures of all of them. */
export function addUp(reports: readonly (WorkerReport | undefined)[]) {
  const calls = reports.reduce((sum, report) => sum + (report?.calls ?? 0), 0);
  const failures = reports.flatMap((report) => report?.failures ?? []);
  const tokens = reports.flatMap((report) => report?.tokens ?? []);
  return { calls, failures, tokens };
}
