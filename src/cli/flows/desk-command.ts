import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { userInfo } from "node:os";
import type { DeskFlow } from "../../desk/desk-options.js";
import { instant } from "../../desk/history-texts.js";
import { deskListener, operatorDesk } from "../../desk/index.js";
import type { FlowContext } from "../../flows/context.js";
import { readApproval, readProposal, readResolution } from "../../flows/operate.js";
import { countFlows, heldFlows, readDetails } from "../../flows/status.js";
import { command, exitCodes } from "../command.js";
import { openClient } from "../open-client.js";
import { portOf } from "../port.js";
import { printable } from "../printable.js";
import { type Settings, settingOptions } from "../settings.js";
import { print, printJson, type Terminal } from "../terminal.js";
import { assertDecidesAlone, decide } from "./decide.js";
import { journalOptions, openFlows } from "./journal.js";
import { neededToDecide } from "./resolve-command.js";

export const flowsDeskCommand = command({
  name: "flows desk",
  summary: "Serves a page on this machine where operators decide about held flows.",
  description:
    "It listens on loopback until Ctrl-C. Only a person who has the address that it prints can open it. As flows resolve does, it stores decisions and moves no money: the program that works on these flows (flow.work) does that. With people 2 in the settings, one person proposes, and another approves at a desk of their own. Requests for names and account numbers are logged on stderr.",
  operands: [],
  options: {
    user: { type: "string", value: "NAME", help: "who uses the desk; the login name of this machine unless given" },
    port: { type: "string", value: "PORT", help: "where it listens; a free one unless given" },
    ...journalOptions,
    ...settingOptions,
    json: { type: "boolean", help: "the address on one line, as JSON, once it listens" },
  },
  examples: ["flows desk --journal payments.db --config gateway.json --user olga"],
  async run({ values }, terminal) {
    const name = values.user ?? userInfo().username;
    const port = portOf(values.port);
    const stopped = terminal.untilStopped();
    const connection = { connect: (settings: Settings) => openClient(settings, terminal), needed: neededToDecide };
    await using flows = await openFlows(values, terminal, connection);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
    try {
      const { port: listensAt } = server.address() as AddressInfo;
      const session = new DeskSession(listensAt);
      const { stderr } = terminal;
      const desk = operatorDesk({
        flow: deskFlow(flows.context, terminal),
        origin: [`http://127.0.0.1:${listensAt}`, `http://localhost:${listensAt}`],
        authenticate: (request) => (session.isOf(request.headers.get("cookie")) ? { name } : null),
        on: {
          shown: ({ atMs, by, key }) => {
            stderr.write(
              `${instant(atMs)} ${printable(by)} saw names and account numbers of ${printable(JSON.stringify(key))}\n`,
            );
          },
          error: (error) => {
            stderr.write(`cross-border: ${printable(error instanceof Error ? error.message : "something failed")}\n`);
          },
        },
      });
      const listener = deskListener((request) => session.opened(request) ?? desk(request));
      server.on("request", (incoming, outgoing) => void listener(incoming, outgoing));
      const url = `http://127.0.0.1:${listensAt}/?key=${session.key}`;
      if (values.json) printJson(terminal, { url, user: name, people: flows.context.people });
      else
        print(
          terminal,
          `The desk of ${printable(name)} is open. Ctrl-C closes it.`,
          "",
          `  ${url}`,
          "",
          "Whoever has this address decides in that name.",
        );
      await stopped;
      return exitCodes.done;
    } finally {
      server.close();
      server.closeAllConnections();
    }
  },
});

/** Other users of the machine can reach its loopback. Only the printed address opens the desk, once; then a cookie does. */
class DeskSession {
  readonly key = randomBytes(24).toString("base64url");
  readonly #name: string;
  readonly #cookie = randomBytes(24).toString("base64url");
  /** Cookies are sent to every port of a host: another user's server on this machine gets those of paths that it knows. */
  readonly #path = `/${randomBytes(24).toString("base64url")}/`;

  constructor(port: number) {
    this.#name = `cross-border-desk-${port}`;
  }

  isOf(cookies: string | null): boolean {
    const given = cookies?.split(/; */).find((cookie) => cookie.startsWith(`${this.#name}=`));
    return given !== undefined && isSame(given.slice(this.#name.length + 1), this.#cookie);
  }

  /** Takes the key out of the address. */
  opened({ url, method }: Request): Promise<Response> | undefined {
    const key = new URL(url).searchParams.get("key");
    if (method !== "GET" || key === null || !isSame(key, this.key)) return undefined;
    const cookie = `${this.#name}=${this.#cookie}; HttpOnly; SameSite=Strict; Path=${this.#path}`;
    const headers = {
      location: this.#path,
      "set-cookie": cookie,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    };
    return Promise.resolve(new Response(null, { status: 303, headers }));
  }
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Decides as the commands do: the decision is stored, and the program carries it out. */
function deskFlow(context: FlowContext, terminal: Terminal): DeskFlow {
  return {
    people: context.people,
    held: () => heldFlows(context),
    counts: () => countFlows(context),
    details: (key) => readDetails(context, key),
    async resolve(key, action, given) {
      const { decision, revision } = readResolution("resolve", action, given);
      assertDecidesAlone(context);
      const seen = revision === undefined ? undefined : { revision };
      await decide(context, "resolve", key, { step: "decide", decision, ...seen }, terminal);
    },
    async propose(key, action, given) {
      await decide(context, "propose", key, readProposal(action, given), terminal);
    },
    async approve(key, given) {
      await decide(context, "approve", key, readApproval("approve", given), terminal);
    },
    async refuse(key, given) {
      await decide(context, "refuse", key, readApproval("refuse", given), terminal);
    },
  };
}
