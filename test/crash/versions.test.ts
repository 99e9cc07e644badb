import { describe, expect, it } from "vitest";
import { hasSourcesOf, newestRelease } from "./build-worker.js";
import { journals, kept, seed } from "./kept.js";
import { describe as describeKills } from "./kills.js";
import { say } from "./script-options.js";
import { runVersions } from "./versions.js";

const hasRelease = hasSourcesOf(newestRelease);
if (!hasRelease)
  say("two releases over one journal are tried in a clone that has the older one (git fetch --unshallow)");

describe.each(journals)("with $kind", (journal) => {
  it.skipIf(!hasRelease)(
    "pays nothing twice and loses nothing while processes of the newest release work over the same journal",
    {
      timeout: 300_000,
    },
    async () => {
      say(`${journal.kind}: seed ${seed}`);
      const counts = { flows: 40, kills: 4, stops: 2 };
      const bounds = { workers: 6, concurrency: 6, leaseMs: 500, flowsPerRound: 40, parallel: 1 };
      const result = await runVersions({ ...journal, ...counts, ...bounds, seed });
      say(`${journal.kind}: ${describeKills(result)}`);
      expect(result).toMatchObject({ ...kept, ...counts });
      expect(result.toldByOlder).toBeGreaterThan(0);
    },
  );
});
