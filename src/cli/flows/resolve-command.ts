import { instant } from "../../desk/history-texts.js";
import { InvalidArgumentError } from "../../errors/errors.js";
import { checkResolution, type GivenResolution } from "../../flows/check-resolution.js";
import { decisionEffects } from "../../flows/decision-effects.js";
import { FlowCall } from "../../flows/flow-call.js";
import type { FlowContext } from "../../flows/flow-context.js";
import type { FlowDetails } from "../../flows/flow-details.js";
import { FlowPausedError } from "../../flows/flow-paused-error.js";
import { notHeld } from "../../flows/operate-flow.js";
import { assertDecidesAlone, decideFlow } from "../../flows/resolve-flow.js";
import type { FlowState, ResolveAction } from "../../flows/state/flow-state.js";
import type { Payment } from "../../resources/payments.js";
import { clock } from "../../timing/clock.js";
import { parseObject } from "../../wire/parse-json-object.js";
import { Interrupted } from "../ask-secret.js";
import { command, exitCodes, type Given, UsageError } from "../command.js";
import { readText } from "../files.js";
import { interruption } from "../interruption.js";
import { openClient } from "../open-client.js";
import { printableLines } from "../printable.js";
import { type Settings, settingOptions } from "../settings.js";
import { print, printJson, type Terminal } from "../terminal.js";
import { journalOptions, openFlows } from "./journal.js";
import { readFlow } from "./show-command.js";
import { showFlow, showLines } from "./view.js";

/** What a decision is made of, whether one person makes it or one proposes it. */
export const decisionOptions = {
  by: { type: "string", value: "NAME", help: "who decides; stored", isRequired: true },
  why: { type: "string", value: "TEXT", help: "on what grounds; stored", isRequired: true },
  payment: { type: "string", value: "FILE", help: "for found: the service's record, as JSON; - for stdin" },
  "without-proof": {
    type: "boolean",
    help: "for release: also where not every payment can be seen, or one only looks like this flow's",
  },
  seen: {
    type: "string",
    value: "HASH",
    help: "what was looked at, as flows show --json has it; else nothing is stored",
  },
  yes: { type: "boolean", help: "do it" },
} as const;

export const flowsResolveCommand = command({
  name: "flows resolve",
  summary: "Stores what an operator decided about a flow that is held or stuck.",
  description:
    "ACTION is found (the payment was made), release (it was not and will not be: the money is given back) or resend (it was not: it is sent again). Without --yes it says what it would do, and what that needs to be known for certain, and changes nothing. It never moves money itself: after release and resend the program that works on these flows does what follows, so keep flow.work running.",
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
    const resolution = checkResolution(action, await readResolution(action, values, terminal));
    const connection = yes
      ? { connect: (settings: Settings) => openClient(settings, terminal), needed: neededToDecide }
      : { needed: ["gatewayId"] as const };
    await using flows = await openFlows(values, terminal, connection);
    const flow = await readFlow(flows, key);
    assertResolvable(flow);
    assertDecidesAlone(flows.context);
    if (!yes) {
      showPlan(flow, action, json, terminal);
      return exitCodes.done;
    }
    const decided = await asOperator(flows.context, flow, action, terminal, (context, call) =>
      decideFlow(context, key, resolution, call),
    );
    showDecided(key, action, decided, json, terminal);
    return exitCodes.done;
  },
});

/** What is given of a decision. Does not compile where an option is not read. */
export async function readResolution(
  action: ResolveAction,
  { by, why, seen, payment, "without-proof": withoutProof }: Given<typeof decisionOptions>["values"],
  terminal: Terminal,
) {
  assertWithoutProof(action, withoutProof === true);
  const record = payment === undefined ? undefined : await readPayment(payment, action, terminal);
  return { by, why, seen, withoutProof, payment: record } satisfies Readonly<Record<keyof GivenResolution, unknown>>;
}

/** Without a `gatewayId` only the signing key tells one gateway's flows from another's, and the command has none. */
export const neededToDecide = ["gatewayId", "authUrl", "realm", "clientId", "username", "password"] as const;

/** Does what an operator decided, with a lease that is long enough for it. */
export async function asOperator<Result>(
  context: FlowContext,
  { claims = [] }: Pick<FlowDetails, "claims">,
  action: ResolveAction,
  { stderr }: Terminal,
  work: (context: FlowContext, call: FlowCall) => Promise<Result>,
): Promise<Result> {
  // The program may have leases that are longer than those of this command.
  const untilSentMs = Math.min((claims.at(-1)?.sendByMs ?? 0) - clock.wallMs(), longestLeaseMs);
  const leaseMs = Math.max(context.leaseMs, untilSentMs);
  if (untilSentMs > 0 && action !== "found") {
    stderr.write(
      `cross-border: waiting until ${instant(clock.wallMs() + untilSentMs)}: its request may be sent until then\n`,
    );
  }
  using stop = interruption();
  try {
    return await context.openWork.run((signal) => {
      const call = new FlowCall(signal, context.openWork.abandon, undefined);
      return work({ ...context, leaseMs }, call);
    }, stop.signal);
  } catch (error) {
    if (!stop.signal.aborted || !(error instanceof FlowPausedError)) throw error;
    stderr.write(`cross-border: ${printableLines(error.message)}\n`);
    throw new Interrupted();
  }
}

const longestLeaseMs = 86_400_000;

export function showPlan(flow: FlowDetails, action: ResolveAction, isJson: boolean, terminal: Terminal): void {
  const { evidence, does, follows } = decisionEffects[action];
  if (isJson) {
    printJson(terminal, { key: flow.key, action, isDecided: false, evidence, does, follows, flow });
    return;
  }
  showFlow(flow, terminal);
  print(terminal, "");
  showLines(
    [
      ["action", action],
      ["needs", evidence],
      ["does", does],
      ["then", follows],
    ],
    terminal,
  );
  print(terminal, "", "Nothing was changed. With --yes it is.");
}

export function showDecided(
  key: string,
  action: ResolveAction,
  state: FlowState,
  isJson: boolean,
  terminal: Terminal,
): void {
  const { phase } = state;
  const { follows } = decisionEffects[action];
  const paymentId = state.phase === "paid" ? state.payment.id : undefined;
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

/** The program that sends again looks once more itself, and holds what it can't see. */
function assertWithoutProof(action: ResolveAction, isGiven: boolean): void {
  if (!isGiven || action === "release") return;
  const advice = action === "resend" ? ": have the program call flow.resolve, which looks and sends at once" : "";
  throw new UsageError(`--without-proof is for release only${advice}`);
}

export function assertResolvable({ key, phase, isWaiting, senderGatewayTransactionId }: FlowDetails): void {
  if (!isWaiting) throw notHeld(key, `it is ${phase}, and neither held nor stuck`);
  // Of these the library says "resend", which lets them go on: their program does so by itself.
  if (senderGatewayTransactionId !== undefined) return;
  throw notHeld(key, `it is ${phase}, no money is known to have been taken, and its program tries again by itself`);
}

async function readPayment(file: string, action: ResolveAction, terminal: Terminal): Promise<Payment> {
  if (action !== "found") throw new UsageError("--payment is for found only");
  const payment = parseObject(await readText(file, terminal));
  if (payment === undefined) throw new InvalidArgumentError(`${file} is not a payment's record in JSON`);
  return payment as unknown as Payment;
}
