import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { instant } from "../../desk/history-texts.js";
import {
  finalPhases,
  type Journal,
  type JournalEntry,
  type PruneReport,
  type ScopeFilter,
} from "../../flows/journal.js";
import { command, exitCodes, UsageError } from "../command.js";
import { parseDuration } from "../duration.js";
import { print, printJson } from "../terminal.js";
import { journalOptions, openFlows } from "./journal.js";

export const flowsPruneCommand = command({
  name: "flows prune",
  summary: "Deletes what is personal about old flows, and old quotes.",
  description:
    "Flows that ended (paid, declined, rejected) lose their data. Their keys stay, so that none is paid again. Quotes that nobody confirmed are deleted. Held and open flows are never pruned. Without --yes it only counts the flows of one service. With --yes it prunes the whole journal, those of other services and gateways included. It can't be undone.",
  operands: [],
  options: {
    "settled-before": {
      type: "string",
      value: "AGE",
      help: "flows that were settled longer ago than this, such as 400d",
    },
    "quoted-before": { type: "string", value: "AGE", help: "quotes that expired longer ago than this, such as 7d" },
    yes: { type: "boolean", help: "do it" },
    ...journalOptions,
    json: { type: "boolean", help: "as JSON" },
  },
  examples: [
    "flows prune --journal payments.db --config gateway.json --quoted-before 7d",
    "flows prune --journal payments.db --config gateway.json --settled-before 400d --yes",
  ],
  async run({ values }, terminal) {
    const { yes = false, json = false } = values;
    const nowMs = clock.wallMs();
    const settledBeforeMs = timeBefore(nowMs, "settled-before", values["settled-before"]);
    const quotedBeforeMs = timeBefore(nowMs, "quoted-before", values["quoted-before"]);
    if (settledBeforeMs === undefined && quotedBeforeMs === undefined) {
      throw new UsageError("--settled-before AGE or --quoted-before AGE is missing, or both");
    }
    await using flows = await openFlows(values, terminal);
    const { journal, context } = flows;
    // Pruning is for all gateways.
    const scope = { service: context.scope.service };
    const { settled, quoted } = yes
      ? await journal.prune({ settledBeforeMs, quotedBeforeMs })
      : await countOld(journal, scope, { settledBeforeMs, quotedBeforeMs });
    if (json) {
      const times = { settledBefore: instantOf(settledBeforeMs), quotedBefore: instantOf(quotedBeforeMs) };
      printJson(terminal, { isDone: yes, settled, quoted, ...times });
      return exitCodes.done;
    }
    const what = `${counted(settled, "flow")}${since(settledBeforeMs)} and ${counted(quoted, "quote")}${since(quotedBeforeMs)}`;
    if (yes) print(terminal, `Pruned: ${what}.`);
    else print(terminal, `There are ${what} of ${scope.service}.`, "Nothing was changed. With --yes they are pruned.");
    return exitCodes.done;
  },
});

function timeBefore(nowMs: number, option: string, age: string | undefined): number | undefined {
  if (age === undefined) return undefined;
  const ms = nowMs - parseDuration(option, age);
  if (ms > 0) return ms;
  throw new UsageError(`--${option} ${age} is before 1970`);
}

function instantOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : instant(ms);
}

function since(ms: number | undefined): string {
  return ms === undefined ? "" : ` from before ${instant(ms)}`;
}

async function countOld(
  journal: Journal,
  scope: ScopeFilter,
  { settledBeforeMs = 0, quotedBeforeMs = 0 }: Record<"settledBeforeMs" | "quotedBeforeMs", number | undefined>,
): Promise<PruneReport> {
  let settled = 0;
  for (const phase of settledBeforeMs > 0 ? finalPhases : []) {
    settled += await count(journal, scope, phase, ({ updatedAtMs }) => updatedAtMs < settledBeforeMs);
  }
  const isOld = ({ expiresAtMs = Number.POSITIVE_INFINITY }: JournalEntry) => expiresAtMs < quotedBeforeMs;
  const quoted = quotedBeforeMs > 0 ? await count(journal, scope, "quoted", isOld) : 0;
  return { settled, quoted };
}

async function count(
  journal: Journal,
  scope: ScopeFilter,
  phase: string,
  isOld: (entry: JournalEntry) => boolean,
): Promise<number> {
  let found = 0;
  for (let after: string | undefined; ; ) {
    const { entries } = await journal.list({ scope, phase, after, limit: 500 });
    found += entries.filter(isOld).length;
    after = entries.at(-1)?.key;
    if (after === undefined) return found;
  }
}
