import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { userInfo } from "node:os";
import type { Command } from "commander";
import { instant } from "../../desk/history-texts.js";
import { deskListener, operatorDesk } from "../../desk/index.js";
import { action, examples, parsePort } from "../options.js";
import { print, printable, printJson, type Terminal } from "../terminal.js";
import { addJournalOptions, type JournalOptions, neededToDecide, openFlows } from "./journal.js";

interface DeskOptions extends JournalOptions {
  readonly user?: string;
  readonly port: number;
  readonly json?: true;
}

export function addDesk(flows: Command, terminal: Terminal): void {
  const command = flows
    .command("desk")
    .summary("serve a page on this machine for the same")
    .description(
      "Serves a page on loopback until Ctrl-C. Only a person who has the printed address can open it. As flows resolve does, it stores decisions and moves no money: the program that works on these flows (flow.work) does that. With people 2 in the settings, one person proposes, and another approves at a desk of their own. Requests for names and account numbers are logged on stderr.",
    )
    .option("--user <name>", "who uses the desk; by default the login name")
    .option("--port <port>", "by default a free one", parsePort, 0)
    .option("--json", "print the address as JSON, when it listens")
    .action(action(terminal, serveDesk));
  examples(addJournalOptions(command), "flows desk --journal payments.db --config gateway.json --user olga");
}

async function serveDesk(options: DeskOptions, terminal: Terminal): Promise<void> {
  const { user: name = userInfo().username } = options;
  const { stderr } = terminal;
  const stopped = terminal.untilStopped();
  await using flows = await openFlows(options, terminal, neededToDecide);
  const server = createServer();
  await once(server.listen(options.port, "127.0.0.1"), "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const session = openSession(port);
    const desk = operatorDesk({
      flow: flows.operator,
      origin: [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
      authenticate: (request) => (session.isOf(request.headers.get("cookie")) ? { name } : null),
      on: {
        shown: ({ atMs, by, key }) => {
          const what = `saw names and account numbers of ${printable(JSON.stringify(key))}`;
          stderr.write(`${instant(atMs)} ${printable(by)} ${what}\n`);
        },
        error: (error) => {
          stderr.write(`cross-border: ${printable(error instanceof Error ? error.message : "something failed")}\n`);
        },
      },
    });
    const listener = deskListener(async (request) => session.opened(request) ?? desk(request));
    server.on("request", (incoming, outgoing) => void listener(incoming, outgoing));
    const url = `http://127.0.0.1:${port}/?key=${session.key}`;
    if (options.json) printJson(terminal, { url, user: name, people: flows.operator.people });
    else {
      print(terminal, `The desk of ${printable(name)} is open. Ctrl-C closes it.`, "", `  ${url}`, "");
      print(terminal, "Anyone with this address decides in that name.");
    }
    await stopped;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Other users of the machine can reach its loopback. The printed address opens the desk, and sets a cookie. */
function openSession(port: number) {
  // Browsers send a cookie to every port of a host, so another user's server must not know its path.
  const [key = "", secret, path] = [0, 1, 2].map(() => randomBytes(24).toString("base64url"));
  const pair = `cross-border-desk-${port}=${secret}`;
  const headers = {
    location: `/${path}/`,
    "set-cookie": `${pair}; HttpOnly; SameSite=Strict; Path=/${path}/`,
    ...{ "cache-control": "no-store", "referrer-policy": "no-referrer" },
  };
  return {
    key,
    isOf: (cookies: string | null) => cookies?.split(/; */).some((cookie) => isSame(cookie, pair)) === true,
    /** Takes the key out of the address. */
    opened({ url, method }: Request): Response | undefined {
      const given = new URL(url).searchParams.get("key") ?? "";
      return method === "GET" && isSame(given, key) ? new Response(null, { status: 303, headers }) : undefined;
    },
  };
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
