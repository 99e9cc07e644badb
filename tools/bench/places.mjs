import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where journals of this run are; `close` removes them. */
export function openPlaces() {
  const folder = mkdtempSync(join(tmpdir(), "cbp-bench-"));
  let postgres;
  return {
    folder,
    file: (name) => join(folder, `${name}.db`),
    /** A schema of its own in the server of CBP_POSTGRES_URL, or in one that is started for this run; `undefined` without either. */
    schema(name) {
      postgres ??= openPostgres();
      if (postgres.url === undefined) return undefined;
      const url = new URL(postgres.url);
      url.searchParams.set("schema", `bench_${process.pid}_${name}`);
      return url.href;
    },
    close() {
      postgres?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function openPostgres() {
  const url = process.env.CBP_POSTGRES_URL;
  if (url !== undefined) return { url, stop() {} };
  const script = fileURLToPath(new URL("../../test/support/postgres.sh", import.meta.url));
  // Directly under /tmp: the server's socket needs a short path.
  const folder = `/tmp/cbp-bench-${process.pid}`;
  const started = spawnSync("bash", [script, "start", folder], { encoding: "utf8" });
  if (started.status !== 0) return { stop() {} };
  return { url: started.stdout.trim(), stop: () => void spawnSync("bash", [script, "stop", folder]) };
}
