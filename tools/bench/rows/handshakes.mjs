import { probe } from "../processes.mjs";

const payments = 2000;

/** What it costs that no payment is sent on a connection that was idle for half a second. */
export async function handshakes({ node, pausedPayments }) {
  const { rounds, paused } = await probe(node, "handshakes.mjs", [payments, pausedPayments]);
  const { own, undici } = paused;
  const ms = ({ ms, cpuMs }) =>
    `${ms.median.toFixed(1)} ms (${ms.least.toFixed(1)}–${ms.most.toFixed(1)}), CPU ${cpuMs.median.toFixed(1)} ms`;
  return [
    {
      work: `${payments.toLocaleString("en-US")} payments back to back over TLS 1.3, 1, 10 and 64 at once, after one payment`,
      // With 64 at once, most wait for their signatures: a connection that none needs for half a second is closed as well.
      goal: "handshakes ≤ those with undici's own agent + 1 % of the payments",
      found: rounds.map(({ atOnce, own, undici }) => `${atOnce} at once: ${own}, undici ${undici}`).join("; "),
      met: rounds.every(({ own, undici }) => own <= undici + payments / 100),
    },
    {
      work: "one payment every 2 s over TLS 1.3",
      goal: "one handshake each, with the session resumed",
      found: `${own.handshakes} handshakes for ${pausedPayments} payments, ${own.resumed} resumed, ${ms(own)}; by undici's own agent, on a connection that was idle for 2 s, ${undici.handshakes} handshakes, ${ms(undici)}`,
      met: own.handshakes === pausedPayments && own.resumed === pausedPayments,
    },
  ];
}
