import { spawnSync } from "node:child_process";
import { spread } from "../measure.mjs";
import { probe } from "../processes.mjs";

/** How many signatures a second OpenSSL itself makes on two cores. */
function opensslPerSecond(seconds) {
  const { stdout, error } = spawnSync("openssl", ["speed", "-seconds", seconds, "-multi", "2", "rsa2048"].map(String), {
    encoding: "utf8",
  });
  const perSecond = /^rsa\s+2048 bits\s+\S+\s+\S+.*?\s([\d.]+)\s+[\d.]+(?:\s+[\d.]+\s+[\d.]+)?\s*$/m.exec(
    stdout ?? "",
  )?.[1];
  return error === undefined && perSecond !== undefined ? Number(perSecond) : undefined;
}

export async function signatures({ node, server, rounds, signSeconds }) {
  const taken = { shares: [], alone: [], perSecond: [], openssl: [], p99Ms: [] };
  for (let round = 0; round < Math.min(rounds, 3); round++) {
    const openssl = opensslPerSecond(signSeconds);
    if (openssl === undefined) return [{ work: "signatures a second", goal: "", found: "there is no openssl here" }];
    const free = { free: true };
    const over = await probe(node, "signatures.mjs", ["sockets", server.origin, signSeconds], free);
    const alone = await probe(node, "signatures.mjs", ["memory", server.origin, signSeconds], free);
    taken.shares.push(over.perSecond / openssl);
    taken.alone.push(alone.perSecond / openssl);
    taken.perSecond.push(over.perSecond);
    taken.openssl.push(openssl);
    taken.p99Ms.push(over.p99Ms);
  }
  const [share, alone, perSecond, openssl, p99Ms] = Object.values(taken).map(spread);
  return [
    {
      work: "signed payments, 64 at once, two cores",
      goal: "≥ 0.85 of openssl speed -multi 2",
      found: `${share.median.toFixed(2)} (${share.least.toFixed(2)}–${share.most.toFixed(2)}): ${perSecond.median.toFixed(0)} of ${openssl.median.toFixed(0)} a second, the server on the same cores; ${alone.median.toFixed(2)} without sockets and server`,
      met: share.median >= 0.85,
    },
    {
      work: "signed payments, 64 at once, two cores",
      goal: "event loop delay p99 ≤ 8 ms",
      found: `${p99Ms.median.toFixed(1)} ms (${p99Ms.least.toFixed(1)}–${p99Ms.most.toFixed(1)}), its own timer of 1 ms among it`,
      met: p99Ms.median <= 8,
    },
  ];
}
