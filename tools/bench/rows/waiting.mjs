import { probe } from "../processes.mjs";

export async function waitingForOneToken({ node, pairs }) {
  const { above, warm, loginsPerWait } = await probe(node, "waiting.mjs", [pairs], { flags: ["--expose-gc"] });
  const us = ({ median, least, most }) => `${median.toFixed(2)} µs (${least.toFixed(2)}–${most.toFixed(2)})`;
  return [
    {
      work: "1,000 calls waiting on one token",
      goal: "≤ 1 µs CPU a call above a warm one",
      found: `${us(above)} above ${warm.median.toFixed(1)} µs, the one token request among it; ${loginsPerWait} token requests each time`,
      met: above.median <= 1 && loginsPerWait === 1,
    },
  ];
}
