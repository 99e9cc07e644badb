import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openClient } from "../client.mjs";
import { makeSigningKey } from "../crypto.mjs";
import { spread } from "../measure.mjs";
import { importUndici } from "../packages.mjs";
import { paymentRequest } from "../record.mjs";

/**
 * Handshakes of payments over TLS 1.3, by the client's own agent and by undici's: back to back, and one every 2 s.
 * `handshakes.mjs PAYMENTS PAUSES`
 */
const [payments, pauses] = process.argv.slice(2).map(Number);
const identity = makeIdentity();
const server = fork(new URL("../tls-server.mjs", import.meta.url));
server.send(identity);
const [port] = await once(server, "message");
const signingKey = makeSigningKey();
const { Agent } = await importUndici();

async function open(agent, maxSockets) {
  const ca = identity.cert;
  const sockets =
    agent === "own"
      ? { tls: { ca }, maxSockets }
      : { dispatcher: new Agent({ allowH2: false, connections: maxSockets, connect: { ca } }) };
  const client = await openClient(`https://127.0.0.1:${port}`, { signingKey, ...sockets });
  return { pay: () => client.payments.create(paymentRequest) };
}

async function handshakesOf(work) {
  const before = await seen();
  await work();
  const after = await seen();
  return { handshakes: after.handshakes - before.handshakes, resumed: after.resumed - before.resumed };
}

async function seen() {
  server.send("seen");
  const [message] = await once(server, "message");
  return message;
}

/** After one payment, which needs a token as well. */
async function backToBack(agent, atOnce) {
  const { pay } = await open(agent, atOnce);
  await pay();
  return handshakesOf(async () => {
    let left = payments;
    const line = async () => {
      while (left-- > 0) await pay();
    };
    await Promise.all(Array.from({ length: atOnce }, line));
  });
}

/** Both in turns, so that they find the same machine. */
async function withPauses() {
  const own = await open("own", 64);
  const undici = await open("undici", 64);
  const found = [own, undici].map(() => ({ ms: [], cpuMs: [], handshakes: 0, resumed: 0 }));
  for (const { pay } of [own, undici]) await pay();
  for (let pause = 0; pause < pauses; pause++) {
    await sleep(2000);
    for (const [index, { pay }] of [own, undici].entries()) {
      const cpuBefore = process.cpuUsage();
      const from = performance.now();
      const { handshakes, resumed } = await handshakesOf(async () => {
        await pay();
        found[index].ms.push(performance.now() - from);
      });
      const { user, system } = process.cpuUsage(cpuBefore);
      found[index].cpuMs.push((user + system) / 1000);
      found[index].handshakes += handshakes;
      found[index].resumed += resumed;
    }
  }
  const summary = ({ ms, cpuMs, ...counts }) => ({ ms: spread(ms), cpuMs: spread(cpuMs), ...counts });
  return { own: summary(found[0]), undici: summary(found[1]) };
}

function makeIdentity() {
  const folder = mkdtempSync(join(tmpdir(), "bench-tls-"));
  const [keyFile, certFile] = ["key.pem", "cert.pem"].map((name) => join(folder, name));
  try {
    const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    const name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    execFileSync("openssl", ["req", "-x509", ...newKey, ...name, "-keyout", keyFile, "-out", certFile], {
      stdio: "ignore",
    });
    return { key: readFileSync(keyFile, "utf8"), cert: readFileSync(certFile, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const rounds = [];
for (const atOnce of [1, 10, 64]) {
  const [own, undici] = [await backToBack("own", atOnce), await backToBack("undici", atOnce)];
  rounds.push({ atOnce, own: own.handshakes, undici: undici.handshakes });
}
const paused = await withPauses();
process.stdout.write(`${JSON.stringify({ rounds, paused })}\n`, () => process.exit());
