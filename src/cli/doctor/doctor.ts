import { type Command, Option } from "commander";
import { InvalidArgumentError } from "../../core/errors.js";
import { readConnection } from "../../settings/connection.js";
import { parseObject } from "../../wire/response.js";
import { action, examples, parseDuration } from "../options.js";
import { type ConnectionOptions, openClient, readSettings, readText, type Settings } from "../settings.js";
import { Exit, exitCodes, interruption, print, printJson, styled, type Terminal, toJson } from "../terminal.js";
import { checksOf, examine, type Finding } from "./checks.js";
import { questionsOf, serviceOf } from "./questions.js";

interface DoctorOptions extends ConnectionOptions {
  readonly service?: true;
  readonly wait: number;
  readonly baseline?: string;
  readonly json?: boolean;
}

export function addDoctor(program: Command, terminal: Terminal): void {
  const command = program
    .command("doctor")
    .helpGroup("Diagnose:")
    .summary("check configuration, network, login, and signing key")
    .description(
      "Checks configuration, DNS, TCP, TLS, proxy, clock, login, read access, and signing key. It logs in and out, reads lists, never moves money, and shows no secret. With --service it asks eight questions about the service whose answers change a setting, with reading requests only, and prints the settings to paste.",
    )
    .option("--service", "ask what the service does where its description is silent")
    .addOption(
      new Option("--wait <time>", "with --service: how long to watch for new payments, and an idle connection")
        .argParser(parseDuration)
        .default(30_000, "30s"),
    )
    .option("--baseline <file>", "with --service: compare with an earlier --json; exit code 1 if an answer changed")
    .option("--json", "print JSON")
    .action(
      action<DoctorOptions>(terminal, async (options) => {
        const settings = await readSettings(options, terminal);
        const isWell = await (options.service ? askService : check)(settings, options, terminal);
        if (!isWell) throw new Exit(exitCodes.checkFailed);
      }),
    );
  examples(
    command,
    "doctor --config gateway.json",
    "doctor --config gateway.json --signing-key signing-key.pem --gateway-id alpha-bank --json",
    "doctor --service --config staging.json --json > staging-service.json",
  );
}

const areWell = (findings: readonly Finding[]) => findings.every(({ status }) => status !== "failed");

async function check(settings: Settings, { json = false }: DoctorOptions, terminal: Terminal): Promise<boolean> {
  await using checks = checksOf(settings, terminal);
  const findings = await examine(checks, json, terminal);
  const isWell = areWell(findings);
  if (json) printJson(terminal, { isWell, findings });
  else if (isWell) print(terminal, "", styled(terminal, "green", "All checks passed."));
  else print(terminal, "", styled(terminal, "red", "Some checks failed: see above."));
  return isWell;
}

/** Asks every question, by reading requests only. What was seen is not a promise. */
async function askService(settings: Settings, options: DoctorOptions, terminal: Terminal): Promise<boolean> {
  const { wait, baseline, json = false } = options;
  const earlier = baseline === undefined ? undefined : readBaseline(await readText(baseline, terminal), baseline);
  const connection = await readConnection(settings, terminal.env);
  await using client = await openClient(settings, terminal);
  using stop = interruption();
  const service = serviceOf(client, settings.baseUrl, connection, wait, stop.signal);
  // A login that fails is an error, and not the same missing answer ten times.
  await service.list();
  const findings = await examine(questionsOf(service), json, terminal);
  const pasted: Record<string, object> = {};
  for (const { settings: found = {} } of findings) {
    for (const [place, values] of Object.entries(found)) pasted[place] = { ...pasted[place], ...values };
  }
  const isChanged = ({ check: id, value }: Finding) =>
    value !== undefined && (earlier?.get(id) ?? toJson(value)) !== toJson(value);
  const changes = earlier && findings.filter(isChanged).map(({ check: id }) => id);
  if (json) {
    const questions = findings.map(({ check: id, found: says, ...rest }) => ({ id, says, ...rest }));
    printJson(terminal, { baseUrl: settings.baseUrl, questions, settings: pasted, changes });
  } else showSettings(pasted, changes, terminal);
  return areWell(findings) && !changes?.length;
}

function showSettings(settings: object, changes: readonly string[] | undefined, terminal: Terminal): void {
  const places = Object.entries(settings);
  print(terminal, "", places.length === 0 ? "No setting needs to change." : "Settings:");
  for (const [place, options] of places) print(terminal, `  ${place}: ${toJson(options)}`);
  print(terminal, "Only the service's operators can promise listedWithinMs, singleUseIntents, and tokensFollowTime.");
  if (changes === undefined) return;
  print(terminal, `Changed since the baseline: ${changes.join(", ") || "nothing"}`);
}

/** The answers of an earlier run as JSON, by question. @throws {InvalidArgumentError} */
function readBaseline(text: string, file: string): ReadonlyMap<string, string | undefined> {
  const stored = parseObject(text)?.questions;
  if (!Array.isArray(stored)) throw new InvalidArgumentError(`${file} is not the output of doctor --service --json`);
  return new Map(stored.map(Object).map(({ id, value }) => [String(id), value === undefined ? value : toJson(value)]));
}
