import { counted } from "../../errors/counted.js";
import { type CheckedMove, checkMove, type MoveReport, moveFlows } from "../../flows/move-flows.js";
import { command, exitCodes, UsageError } from "../command.js";
import { interruption } from "../interruption.js";
import { printableLines } from "../printable.js";
import { print, printJson, type Terminal } from "../terminal.js";
import { journalOptions, type OpenFlows, openFlows } from "./journal.js";

export const flowsMoveCommand = command({
  name: "flows move",
  summary: "Moves the flows of an earlier address of the service to the present one.",
  description:
    "Settled and held ones too, so that their keys keep their outcomes. A flow that a process is running is left, and named: stop the processes of the old address, and call it again until the exit code is 0. Quotes that still hold are left until they have expired. It sends nothing and moves no money, and can be interrupted at any time. Without --yes it only counts.",
  operands: [],
  options: {
    from: {
      type: "string",
      value: "URL",
      help: "the address that the flows were begun under: see flows scopes",
      isRequired: true,
    },
    to: {
      type: "string",
      value: "URL",
      help: "the address that they belong to from now on; by default the service's (baseUrl)",
    },
    yes: { type: "boolean", help: "do it" },
    ...journalOptions,
    json: { type: "boolean", help: "as JSON" },
  },
  examples: [
    "flows move --from https://payments-old.example --journal payments.db --config gateway.json",
    "flows move --from https://payments-old.example --to https://payments.example/v1 --journal payments.db --config gateway.json --yes",
  ],
  async run({ values }, terminal) {
    const { from, to, yes = false, json = false } = values;
    await using flows = await openFlows({ ...values, ...(to !== undefined && { "base-url": to }) }, terminal);
    const move = readMove(flows, from);
    if (!yes) {
      await showPlan(flows, move, json, terminal);
      return exitCodes.done;
    }
    using stop = interruption();
    const { context } = flows;
    const report = await context.openWork.run((signal) => moveFlows(context, move, signal), stop.signal);
    if (json) printJson(terminal, toJson(move, report));
    else showReport(move, report, terminal);
    if (report.isStopped) return exitCodes.interrupted;
    return report.leased.length + report.quoted.length + report.failed.length === 0
      ? exitCodes.done
      : exitCodes.refuted;
  },
});

/** @throws {UsageError} for what is no address, and for two that are the same. */
function readMove({ context }: OpenFlows, from: string): CheckedMove {
  try {
    return checkMove(context, { from: { service: from } });
  } catch (error) {
    throw new UsageError(messageOf(error).replace(/^move: /, ""));
  }
}

async function showPlan(
  { journal }: OpenFlows,
  { from, to }: CheckedMove,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  const scopes = (await journal.scopes()).filter(
    ({ service, gateway }) => service === from.service && (from.gateway ?? gateway) === gateway,
  );
  const sum = (name: "open" | "held" | "flows"): number => scopes.reduce((total, scope) => total + scope[name], 0);
  const [open, held, flows] = [sum("open"), sum("held"), sum("flows")];
  if (json) {
    printJson(terminal, { isDone: false, from: from.service, to, open, held, flows });
    return;
  }
  const present = `There are ${counted(flows, "flow")} of ${from.service}, ${open} of them open and ${held} held.`;
  print(terminal, present, `Nothing was changed. With --yes they are moved to ${to}.`);
}

function toJson({ from, to }: CheckedMove, report: MoveReport): object {
  const failed = report.failed.map(({ key, error }) => ({ key, message: messageOf(error) }));
  return { isDone: true, from: from.service, to, ...report, failed };
}

function showReport(
  { from, to }: CheckedMove,
  { moved, leased, quoted, failed }: MoveReport,
  terminal: Terminal,
): void {
  print(terminal, `Moved: ${counted(moved, "flow")}, from ${from.service} to ${to}.`);
  nameKeys("is run by another process: stop it, or wait, and call this again", leased, terminal);
  nameKeys("is a quote that still holds: call this again once it has expired", quoted, terminal);
  for (const { key, error } of failed.slice(0, mostNamed)) {
    const text = `${JSON.stringify(key)} was not moved: ${messageOf(error)}`;
    terminal.stderr.write(`cross-border: ${printableLines(text)}\n`);
  }
  nameMore(failed.length, terminal);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function nameKeys(what: string, keys: readonly string[], terminal: Terminal): void {
  for (const key of keys.slice(0, mostNamed)) {
    terminal.stderr.write(`cross-border: ${printableLines(JSON.stringify(key))} ${what}\n`);
  }
  nameMore(keys.length, terminal);
}

function nameMore(count: number, { stderr }: Terminal): void {
  if (count > mostNamed) stderr.write(`cross-border: and ${count - mostNamed} more; --json names all\n`);
}

const mostNamed = 20;
