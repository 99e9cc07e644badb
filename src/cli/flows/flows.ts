import type { Command } from "commander";
import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { instant } from "../../desk/history-texts.js";
import { PostgresJournal } from "../../journals/postgres-journal.js";
import { action, examples, parseDuration } from "../options.js";
import { print, printJson, type Terminal, UsageError } from "../terminal.js";
import { addDecisions } from "./decide.js";
import { addDesk } from "./desk.js";
import { addJournalOptions, type JournalOptions, openFlows } from "./journal.js";
import { addList, addShow } from "./show.js";

interface PruneOptions extends JournalOptions {
  readonly settledBefore?: number;
  readonly quotedBefore?: number;
  readonly yes?: true;
  readonly json?: true;
}

function addPrune(flows: Command, terminal: Terminal): void {
  const command = flows
    .command("prune")
    .summary("delete the data of old flows, and old quotes")
    .description(
      "Flows that ended (paid, declined, rejected) lose their data. Their keys stay, so that none is paid again. Quotes that nobody confirmed are deleted. Held and open flows are never pruned. It prunes the whole journal, flows of other services and gateways included, and can't be undone. Without --yes it changes nothing.",
    )
    .option("--settled-before <age>", "flows that were settled longer ago than this, such as 400d", parseDuration)
    .option("--quoted-before <age>", "quotes that expired longer ago than this, such as 7d", parseDuration)
    .option("--yes", "do it")
    .option("--json", "print JSON")
    .action(action(terminal, prune));
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
  const pruned = yes ? await flows.context.journal.prune({ settledBeforeMs, quotedBeforeMs }) : undefined;
  if (json) return printJson(terminal, { isDone: yes, ...pruned, settledBeforeMs, quotedBeforeMs });
  const kinds = { flow: [settledBeforeMs, pruned?.settled], quote: [quotedBeforeMs, pruned?.quoted] };
  for (const [name, [beforeMs, count]] of Object.entries(kinds)) {
    if (beforeMs === undefined) continue;
    const what = count === undefined ? `Would prune ${name}s` : `Pruned ${counted(count, name)}`;
    print(terminal, `${what} from before ${instant(beforeMs)}, of every gateway and service in the journal.`);
  }
  if (!yes) print(terminal, "Nothing was changed. Run it with --yes to prune.");
}

interface SchemaOptions {
  readonly schema?: string;
  readonly table?: string;
  readonly role?: string;
  readonly from?: string;
}

/** For a database administrator, if the programs may not create tables. */
function addSchema(flows: Command, terminal: Terminal): void {
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

export function addFlows(program: Command, terminal: Terminal): void {
  const flows = program
    .command("flows")
    .helpCommand(false)
    .helpGroup("Flows:")
    .summary("list, show, and decide about durable flows")
    .description(
      "Durable flows in a journal: what waits for an operator, and decisions about it. Nothing here moves money.",
    );
  for (const add of [addList, addShow, addDecisions, addDesk, addPrune, addSchema]) add(flows, terminal);
}
