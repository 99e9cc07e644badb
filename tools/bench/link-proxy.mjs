import { connect, createServer } from "node:net";

/**
 * A link between clients and a server: `link-proxy.mjs PORT MBIT MS` prints its port, lets MBIT megabits a second through in
 * each direction, all connections together, and makes a round trip take MS. It stops when its parent does.
 */
const [, , serverPort, megabits, roundTripMs] = process.argv.map(Number);
const bytesPerMs = (megabits * 1e6) / 8 / 1000;
const mostQueued = 2 ** 20;

/** One direction. Whatever is sent waits for what was sent before it, and then travels. */
function direction() {
  const queue = [];
  let freeAtMs = 0;
  let isWaiting = false;
  const wait = () => {
    isWaiting = true;
    setTimeout(deliver, Math.max(0, queue[0].atMs - performance.now()));
  };
  const deliver = () => {
    isWaiting = false;
    while (queue.length > 0 && queue[0].atMs <= performance.now()) queue.shift().arrive();
    if (queue.length > 0) wait();
  };
  return (bytes, arrive) => {
    freeAtMs = Math.max(freeAtMs, performance.now()) + bytes / bytesPerMs;
    queue.push({ atMs: freeAtMs + roundTripMs / 2, arrive });
    if (!isWaiting) wait();
  };
}

const up = direction();
const down = direction();

function carry(from, to, over) {
  let queued = 0;
  from.on("data", (chunk) => {
    queued += chunk.length;
    if (queued > mostQueued) from.pause();
    over(chunk.length, () => {
      queued -= chunk.length;
      if (queued <= mostQueued) from.resume();
      to.write(chunk);
    });
  });
  from.on("end", () => over(0, () => to.end()));
  from.on("error", () => to.destroy());
  from.on("close", () => over(0, () => to.destroy()));
}

const proxy = createServer({ noDelay: true }, (client) => {
  const server = connect({ port: serverPort, host: "127.0.0.1", noDelay: true });
  carry(client, server, up);
  carry(server, client, down);
});

proxy.listen(0, "127.0.0.1", () => process.stdout.write(`${proxy.address().port}\n`));
process.stdin.on("end", () => process.exit()).resume();
