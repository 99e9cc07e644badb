import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Sandbox, SandboxClientOptions } from "cross-border-payments/sandbox";
import { onTestFinished } from "vitest";
import { certificates } from "../faults/certificates.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest } from "../support/origin-of.js";
import { openClosedPort } from "../wire/closed-port.js";

/** What the programs are given: see `programs/story.js`. */
export interface Settings {
  readonly service: SandboxClientOptions;
  readonly signingKey: string;
  readonly closed: string;
  readonly silent: string;
  readonly odd: string;
  readonly secure: { readonly baseUrl: string; readonly ca: string };
}

/** A service for one program, which may be a page, and addresses where something is wrong. */
export interface Service {
  readonly settings: Settings;
  readonly sandbox: Sandbox;
  /** Serves `index.html`. */
  readonly pageUrl: string;
}

/** How long the service thinks about what goes to `/slow`. */
export const slowMs = 1000;

/** Of a payment whose response is lost, with its connection, when it has been made; that to a second one like it is not. */
const lostMemo = "lost";

/** The record of an intent, where the description has none like it. */
const oddRecord = JSON.stringify({ id: "1", senderAmount: 1.5 });

/**
 * Ends with its test.
 *
 * @param project where the packed package is installed.
 * @param pages a folder that is served beside the service.
 */
export async function startService(project: string, pages = project): Promise<Service> {
  const installed = join(project, "node_modules/cross-border-payments/dist");
  const { createSandbox }: typeof import("cross-border-payments/sandbox") = await import(
    pathToFileURL(join(installed, "sandbox.js")).href
  );
  const { CrossBorderClient }: typeof import("cross-border-payments") = await import(
    pathToFileURL(join(installed, "index.js")).href
  );
  const sandbox = createSandbox();
  let settings: Settings | undefined;
  const respondTo: RequestListener = (request, response) => {
    if (request.url === "/settings.json") response.end(JSON.stringify(settings));
    else void respond(sandbox, pages, request, response);
  };
  const url = await originInTest(createServer(respondTo));
  const service = sandbox.clientOptions({ baseUrl: url, authUrl: url });
  const { privateKey, publicKeyBase64: rsaPublicKeyBase64 } = signingKeysOf("gateway");
  const onboarding = new CrossBorderClient({ ...service, fetch: sandbox.fetch });
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await onboarding.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64 });
  }
  await onboarding.close();

  const closed = await openClosedPort();
  onTestFinished(() => closed.close());
  const { authority: ca, good } = certificates();
  settings = {
    service,
    signingKey: privateKey,
    closed: `http://127.0.0.1:${closed.port}`,
    silent: await originInTest(createServer(() => {})),
    odd: `${url}/odd`,
    secure: { baseUrl: `${await originInTest(createSecureServer(good, respondTo), "https")}/odd`, ca },
  };
  return { settings, sandbox, pageUrl: `${url}/` };
}

async function respond(
  sandbox: Sandbox,
  pages: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = "GET", url = "/", headers } = incoming;
  const target = url.replace(/^\/slow(?=\/)/, "");
  if (target !== url) await sleep(slowMs);
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const file = join(pages, target === "/" ? "index.html" : target.slice(1));
  const type = types[extname(file)];
  if (target.startsWith("/odd/")) {
    outgoing.writeHead(200, { "content-type": "application/json" }).end(oddRecord);
  } else if (type !== undefined && existsSync(file)) {
    outgoing.writeHead(200, { ...pageHeaders, "content-type": type }).end(readFileSync(file));
  } else {
    const request = new Request(`http://sandbox.invalid${target}`, {
      method,
      headers: headers as Record<string, string>,
      ...(method === "GET" ? {} : { body: Buffer.concat(chunks) }),
    });
    const response = await sandbox.handle(request, { target, method });
    const lost = sandbox.payments.filter(({ memo }) => memo === lostMemo).length;
    if (method === "POST" && target.endsWith("/payments") && lost === 1) return void incoming.socket.resetAndDestroy();
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  }
}

const types: Readonly<Record<string, string>> = { ".html": "text/html", ".js": "text/javascript" };

/** What a careful page allows: its own scripts, and no code made of strings. */
const pageHeaders = { "content-security-policy": "default-src 'self'; connect-src *" };
