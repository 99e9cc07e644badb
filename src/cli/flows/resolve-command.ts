import { InvalidArgumentError } from "../../core/errors.js";
import { decisionEffects } from "../../flows/core/reasons.js";
import { type FlowResolution, readResolution } from "../../flows/operate.js";
import type { ResolveAction } from "../../flows/outcome.js";
import type { FlowDetails } from "../../flows/status.js";
import type { Payment } from "../../resources/payments.js";
import { parseObject } from "../../wire/response.js";
import { command, exitCodes, type Given, UsageError } from "../command.js";
import { readText } from "../files.js";
import { openClient } from "../open-client.js";
import { type Settings, settingOptions } from "../settings.js";
import { print, printJson, type Terminal } from "../terminal.js";
import { assertDecidesAlone, decide, type Stored } from "./decide.js";
import { journalOptions, openFlows } from "./journal.js";
import { readFlow } from "./show-command.js";
import { showFlow, showLines } from "./view.js";

/** What a decision is made of, whether one person makes it or one proposes it. */
export const decisionOptions = {
  by: { type: "string", value: "NAME", help: "who decides; stored", isRequired: true },
  why: { type: "string", value: "TEXT", help: "why; stored", isRequired: true },
  payment: { type: "string", value: "FILE", help: "for found: the service's record, as JSON; - for stdin" },
  "without-proof": {
    type: "boolean",
    help: "for release and resend: even if the list can't be read, or shows a possible match",
  },
  revision: {
    type: "string",
    value: "NUMBER",
    help: "what you saw, as flows show prints it: if the flow has another, nothing is stored",
  },
  yes: { type: "boolean", help: "do it" },
} as const;

export const flowsResolveCommand = command({
  name: "flows resolve",
  summary: "Stores what an operator decided about a held flow.",
  description:
    "ACTION is found (the payment was made), release (it was not and won't be: the money is given back), or resend (it was not: it is sent again). Without --yes it prints what it would do and what you must know for certain, and changes nothing. It never moves money. After release and resend, the program that works on these flows does that, so keep flow.work running.",
  operands: ["KEY", "ACTION"],
  options: {
    ...decisionOptions,
    ...journalOptions,
    ...settingOptions,
    json: { type: "boolean", help: "as JSON" },
  },
  examples: [
    "flows resolve order-42 found --by olga --why p-17 --journal payments.db --config gateway.json",
    "flows resolve order-42 release --by olga --why ticket-4711 --journal payments.db --config gateway.json --yes",
  ],
  async run({ values, operands: [key = "", action = ""] }, terminal) {
    assertAction(action);
    const { yes = false, json = false } = values;
    const { decision, revision } = readResolution("resolve", action, await resolutionOf(action, values, terminal));
    const connection = yes
      ? { connect: (settings: Settings) => openClient(settings, terminal), needed: neededToDecide }
      : { needed: ["gatewayId"] as const };
    await using flows = await openFlows(values, terminal, connection);
    const flow = await readFlow(flows, key);
    assertHeld(flow);
    assertDecidesAlone(flows.context);
    if (!yes) {
      showPlan(flow, action, json, terminal);
      return exitCodes.done;
    }
    const resolution = { step: "decide", decision, ...(revision !== undefined && { revision }) } as const;
    const stored = await decide(flows.context, "resolve", key, resolution, terminal);
    showDecided(key, action, stored, json, terminal);
    return exitCodes.done;
  },
});

/** What is given of a decision. */
export async function resolutionOf(
  action: ResolveAction,
  { by, why, revision, payment, "without-proof": withoutProof }: Given<typeof decisionOptions>["values"],
  terminal: Terminal,
): Promise<FlowResolution> {
  const record = payment === undefined ? undefined : await readPayment(payment, action, terminal);
  return { by, why, revision: revisionOf(revision), withoutProof, payment: record };
}

/** @throws {UsageError} */
export function revisionOf(text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,8}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new UsageError("--revision is a number from 1 on, as flows show prints it");
}

/** Without a `gatewayId`, a login of one gateway could decide about another's flows, whose payments it may not see. */
export const neededToDecide = ["gatewayId", "authUrl", "realm", "clientId", "username", "password"] as const;

export function showPlan(flow: FlowDetails, action: ResolveAction, isJson: boolean, terminal: Terminal): void {
  const { needs, does, follows } = decisionEffects[action];
  if (isJson) {
    printJson(terminal, { key: flow.key, action, isDecided: false, needs, does, follows, flow });
    return;
  }
  showFlow(flow, terminal);
  print(terminal, "");
  showLines(
    [
      ["action", action],
      ["needs", needs],
      ["does", does],
      ["then", follows],
    ],
    terminal,
  );
  print(terminal, "", "Nothing was changed. Run it with --yes to decide.");
}

export function showDecided(
  key: string,
  action: ResolveAction,
  { flow }: Stored,
  isJson: boolean,
  terminal: Terminal,
): void {
  const { phase } = flow;
  const { follows } = decisionEffects[action];
  const paymentId = flow.phase === "paid" ? flow.payment.id : undefined;
  if (isJson) {
    printJson(terminal, { key, action, isDecided: true, phase, paymentId, follows });
    return;
  }
  showLines(
    [
      ["key", key],
      ["phase", phase],
      ...(paymentId === undefined ? [] : [["payment", paymentId] as const]),
      ["then", follows],
    ],
    terminal,
  );
}

export function assertAction(action: string): asserts action is ResolveAction {
  if (Object.hasOwn(decisionEffects, action)) return;
  throw new UsageError(
    `ACTION is one of ${Object.keys(decisionEffects).join(", ")}, and not ${JSON.stringify(action)}`,
  );
}

/** @throws {InvalidArgumentError} `flow_not_held` */
export function assertHeld({ key, phase, isWaiting }: FlowDetails): void {
  if (isWaiting) return;
  const message = `the flow of key ${JSON.stringify(key)} is ${phase}. Only held flows can be resolved`;
  throw new InvalidArgumentError(message, { code: "flow_not_held", effect: "possible" });
}

async function readPayment(file: string, action: ResolveAction, terminal: Terminal): Promise<Payment> {
  if (action !== "found") throw new UsageError("--payment is for found only");
  const payment = parseObject(await readText(file, terminal));
  if (payment === undefined) throw new InvalidArgumentError(`${file} is not a payment's record in JSON`);
  return payment as unknown as Payment;
}
