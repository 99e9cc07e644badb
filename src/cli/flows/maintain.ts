import type { Command } from "commander";
import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { instant } from "../../desk/history-texts.js";
import { finalPhases, type Journal, type JournalEntry, type ScopeFilter } from "../../flows/journal.js";
import { PostgresJournal } from "../../journals/postgres-journal.js";
import { action, examples } from "../help.js";
import { print, printJson, type Terminal, UsageError } from "../terminal.js";
import { parseDuration } from "../values.js";
import { addJournalOptions, type JournalOptions, openFlows } from "./journal.js";

interface PruneOptions extends JournalOptions {
  readonly settledBefore?: number;
  readonly quotedBefore?: number;
  readonly yes?: true;
  readonly json?: true;
}

export function addPrune(flows: Command, terminal: Terminal): void {
  const command = flows
    .command("prune")
    .summary("delete the data of old flows, and old quotes")
    .description(
      "Flows that ended (paid, declined, rejected) lose their data. Their keys stay, so that none is paid again. Quotes that nobody confirmed are deleted. Held and open flows are never pruned. Without --yes it only counts the flows of one service. With --yes it prunes the whole journal, those of other services and gateways included. It can't be undone.",
    )
    .option("--settled-before <age>", "flows that were settled longer ago than this, such as 400d", parseDuration)
    .option("--quoted-before <age>", "quotes that expired longer ago than this, such as 7d", parseDuration)
    .option("--yes", "do it")
    .option("--json", "print JSON")
    .action(action<PruneOptions>((options) => prune(options, terminal)));
  examples(
    addJournalOptions(command),
    "flows prune --journal payments.db --config gateway.json --quoted-before 7d",
    "flows prune --journal payments.db --config gateway.json --settled-before 400d --yes",
  );
}

async function prune(options: PruneOptions, terminal: Terminal): Promise<void> {
  const { yes = false, json } = options;
  const timeBefore = (age: number | undefined) => (age === undefined ? undefined : Math.max(1, clock.wallMs() - age));
  const settledBeforeMs = timeBefore(options.settledBefore);
  const quotedBeforeMs = timeBefore(options.quotedBefore);
  if (settledBeforeMs === undefined && quotedBeforeMs === undefined) {
    throw new UsageError("--settled-before or --quoted-before is missing");
  }
  await using flows = await openFlows(options, terminal);
  const { journal, context } = flows;
  // Pruning is for all gateways.
  const scope = { service: context.scope.service };
  const { settled, quoted } = yes
    ? await journal.prune({ settledBeforeMs, quotedBeforeMs })
    : await countOld(journal, scope, settledBeforeMs, quotedBeforeMs);
  const at = (ms: number | undefined) => (ms === undefined ? undefined : instant(ms));
  const [settledBefore, quotedBefore] = [at(settledBeforeMs), at(quotedBeforeMs)];
  if (json) return printJson(terminal, { isDone: yes, settled, quoted, settledBefore, quotedBefore });
  const since = (time: string | undefined) => (time === undefined ? "" : ` from before ${time}`);
  const what = `${counted(settled, "flow")}${since(settledBefore)} and ${counted(quoted, "quote")}${since(quotedBefore)}`;
  if (yes) print(terminal, `Pruned: ${what}.`);
  else print(terminal, `There are ${what} of ${scope.service}.`, "Nothing was changed. With --yes they are pruned.");
}

async function countOld(journal: Journal, scope: ScopeFilter, settledBeforeMs = 0, quotedBeforeMs = 0) {
  let settled = 0;
  for (const phase of settledBeforeMs > 0 ? finalPhases : []) {
    settled += await count(journal, scope, phase, ({ updatedAtMs }) => updatedAtMs < settledBeforeMs);
  }
  const isOld = ({ expiresAtMs = Number.POSITIVE_INFINITY }: JournalEntry) => expiresAtMs < quotedBeforeMs;
  const quoted = quotedBeforeMs > 0 ? await count(journal, scope, "quoted", isOld) : 0;
  return { settled, quoted };
}

async function count(journal: Journal, scope: ScopeFilter, phase: string, isOld: (entry: JournalEntry) => boolean) {
  let found = 0;
  for (let after: string | undefined; ; ) {
    const { entries } = await journal.list({ scope, phase, after, limit: 500 });
    found += entries.filter(isOld).length;
    after = entries.at(-1)?.key;
    if (after === undefined) return found;
  }
}

interface SchemaOptions {
  readonly schema?: string;
  readonly table?: string;
  readonly role?: string;
  readonly from?: string;
}

/** For a database administrator, if the programs may not create tables. */
export function addSchema(flows: Command, terminal: Terminal): void {
  const command = flows
    .command("schema")
    .summary("print the SQL of PostgreSQL's tables, migrations, and grants")
    .description(
      "Prints SQL that creates the tables of a PostgreSQL journal, or migrates them, and grants a role what the program needs. Programs then open the journal with migrate: false.",
    )
    .option("--schema <name>", "by default public")
    .option("--table <name>", "by default cross_border_flows")
    .option("--role <name>", "database role of the program; by default payments")
    .option("--from <version>", "version of the tables that are there: 3, or 0 if there are none")
    .action(({ from, ...names }: SchemaOptions) => {
      const version = from === undefined ? undefined : { from: Number(from) };
      print(terminal, PostgresJournal.schema({ ...names, ...version }).trimEnd());
    });
  examples(command, "flows schema --role payments > journal.sql", "flows schema --from 3 > migration.sql");
}
