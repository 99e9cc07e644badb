import { Argument, type Command } from "commander";
import { InvalidArgumentError } from "../../core/errors.js";
import { proposalOf } from "../../desk/history-texts.js";
import { decisionEffects, refusals } from "../../flows/core/reasons.js";
import type { FlowResolution } from "../../flows/operate.js";
import type { ResolveAction } from "../../flows/outcome.js";
import type { FlowDetails } from "../../flows/status.js";
import type { Payment } from "../../resources/payments.js";
import { parseObject } from "../../wire/response.js";
import { action, examples, parseCount } from "../options.js";
import { readText } from "../settings.js";
import { print, printJson, type Terminal, UsageError } from "../terminal.js";
import { addJournalOptions, type JournalOptions, neededToDecide, openFlows, readFlow } from "./journal.js";
import { showFlow, showLines } from "./show.js";

interface DecisionOptions extends JournalOptions {
  readonly by: string;
  readonly why: string;
  readonly payment?: string;
  readonly withoutProof?: true;
  readonly revision?: number;
  readonly yes?: true;
  readonly json?: true;
}

/** What is done with a decision. */
type Step = "resolve" | "propose" | "approve" | "refuse";

export function addDecisions(flows: Command, terminal: Terminal): void {
  const where = "--journal payments.db --config gateway.json";
  const example = `--by olga --why ticket-4711 ${where}`;
  const add = (name: Step, summary: string, description: string): Command => {
    const command = flows
      .command(`${name} <key>`)
      .summary(summary)
      .description(description)
      .requiredOption("--by <name>", "who decides; stored")
      .option("--revision <number>", "of the flow that you saw; if it has changed, nothing is stored", parseCount)
      .option("--json", "print JSON")
      .action(
        action<DecisionOptions>(terminal, (options, _, key = "", word = "") =>
          decide(name, { key, word: word as ResolveAction }, options, terminal),
        ),
      );
    if (name !== "refuse") command.option("--yes", "do it");
    return addJournalOptions(command);
  };
  const addGrounds = (command: Command) =>
    command
      .addArgument(new Argument("<action>", "").choices(Object.keys(decisionEffects)))
      .requiredOption("--why <text>", "why; stored")
      .option("--payment <file>", "for found: the service's record, as JSON; - for stdin")
      .option("--without-proof", "for release and resend: even if the list can't be read, or shows a possible match");
  const resolve = add(
    "resolve",
    "store what an operator decided about a held flow",
    "ACTION is found (the payment was made), release (it was not and won't be: the money is given back), or resend (it was not: it is sent again). Without --yes it prints what would happen and what you must know for certain. It never moves money: after release and resend, the program that works on these flows (flow.work) does that.",
  );
  examples(
    addGrounds(resolve),
    `flows resolve order-42 found ${example}`,
    `flows resolve order-42 release ${example} --yes`,
  );
  const propose = add(
    "propose",
    "propose a decision, for another person to approve",
    "ACTION is found, release, or resend, as with flows resolve. The proposal replaces an earlier one. Without --yes it prints what the decision would do, and stores nothing.",
  );
  examples(addGrounds(propose), `flows propose order-42 release ${example} --yes`);
  const approve = add(
    "approve",
    "approve what another person proposed",
    "As flows resolve does, it searches for the payment, stores the decision, and moves no money. The person who proposed it can't approve it. Without --yes it prints the proposal and its revision. With --yes it needs that revision, so that you approve what you saw.",
  );
  examples(approve, `flows approve order-42 --by petra --revision 6 ${where} --yes`);
  const refuse = add(
    "refuse",
    "refuse a proposal, or take it back",
    "The flow stays held, and something else can be proposed.",
  );
  examples(refuse, `flows refuse order-42 --by petra ${where}`);
}

async function decide(
  step: Step,
  { key, word }: { readonly key: string; readonly word: ResolveAction },
  options: DecisionOptions,
  terminal: Terminal,
): Promise<void> {
  const { by, yes = step === "refuse", json } = options;
  const isNew = step === "resolve" || step === "propose";
  const grounds = isNew ? await groundsOf(word, options, terminal) : undefined;
  if (step === "approve" && yes && options.revision === undefined) {
    throw new UsageError("--yes needs --revision <number>: the one that flows approve prints without --yes");
  }
  const searches = yes && (step === "resolve" || step === "approve");
  await using flows = await openFlows(options, terminal, searches ? neededToDecide : ["gatewayId"]);
  const flow = await readFlow(flows, key);
  const what = isNew ? word : (proposalOf(flow)?.action ?? refuse("flow_not_proposed"));
  if (!flow.isWaiting) refuse("flow_not_held");
  if (!yes) return showPlan(flow, what, json, terminal);
  const { revision = flow.revision } = options;
  const { operator } = flows;
  const stored = isNew
    ? await operator[step](key, what, { by, why: options.why, revision, ...grounds })
    : await operator[step](key, { by, revision });
  const undecided: Partial<Record<Step, string>> = {
    propose: "Another person approves it with flows approve, or refuses it with flows refuse.",
    refuse: "The flow stays held.",
  };
  const { phase } = stored.flow;
  const paymentId = stored.flow.phase === "paid" ? stored.flow.payment.id : undefined;
  const facts = { key, action: what, by, phase, paymentId, revision: stored.revision };
  const next = undecided[step] ?? decisionEffects[what].follows;
  if (json) printJson(terminal, { ...facts, isDecided: undecided[step] === undefined, follows: next });
  else showLines(Object.entries({ ...facts, next }), terminal);
}

function refuse(code: "flow_not_held" | "flow_not_proposed"): never {
  throw new InvalidArgumentError(refusals[code], { code, effect: "possible" });
}

async function groundsOf(
  action: ResolveAction,
  { payment: file, withoutProof }: DecisionOptions,
  terminal: Terminal,
): Promise<Pick<FlowResolution, "payment" | "withoutProof">> {
  if (file === undefined) return { withoutProof };
  if (action !== "found") throw new UsageError("--payment is for found only");
  const payment = parseObject(await readText(file, terminal));
  if (payment === undefined) throw new InvalidArgumentError(`${file} is not a payment's record in JSON`);
  return { withoutProof, payment: payment as unknown as Payment };
}

function showPlan(flow: FlowDetails, action: ResolveAction, isJson: boolean | undefined, terminal: Terminal): void {
  const { needs, does, follows } = decisionEffects[action];
  if (isJson) printJson(terminal, { key: flow.key, action, isDecided: false, needs, does, follows, flow });
  else {
    showFlow(flow, terminal);
    print(terminal, "");
    showLines(Object.entries({ action, needs, does, next: follows }), terminal);
    print(terminal, "", "Nothing was changed. Run it with --yes to decide.");
  }
}
