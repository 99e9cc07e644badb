import { probe } from "../processes.mjs";

export async function prefetching({ node, server, prefetchPages }) {
  const { isThere, without, withIt } = await probe(node, "prefetch.mjs", [server.origin, prefetchPages]);
  const row = { work: "paging, 50 ms a page and a consumer of 50 ms", goal: "time with prefetch ≤ 0.6 × without" };
  if (!isThere) return [{ ...row, found: "not there yet", met: false }];
  const ratio = withIt / without;
  return [
    { ...row, found: `${ratio.toFixed(2)}: ${withIt.toFixed(0)} against ${without.toFixed(0)} ms`, met: ratio <= 0.6 },
  ];
}
