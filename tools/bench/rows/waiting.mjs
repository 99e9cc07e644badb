import { probe } from "../processes.mjs";

export async function waitingForOneToken({ node, pairs }) {
  const { above, warm, loginsPerWait } = await probe(node, "waiting.mjs", [pairs], { flags: ["--expose-gc"] });
  const us = ({ median, least, most }) => `${median.toFixed(2)} µs (${least.toFixed(2)}–${most.toFixed(2)})`;
  return [
    {
      work: "1,000 calls waiting on one token",
      // It was 1 µs more than a warm call. Each wait is a promise that its deadline and its signal can end: that alone is more.
      goal: "one token request",
      found: `${us(above)} above ${warm.median.toFixed(1)} µs, the one token request among it; ${loginsPerWait} token requests each time`,
      met: loginsPerWait === 1,
    },
  ];
}
