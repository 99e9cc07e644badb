import { type Command, Option } from "commander";
import { action, examples } from "../help.js";
import { type ConnectionOptions, readSettings, type Settings } from "../settings.js";
import { Exit, exitCodes, print, printJson, styled, type Terminal } from "../terminal.js";
import { printable, wrapped } from "../text.js";
import { parseDuration } from "../values.js";
import { examine, type Finding } from "./checks.js";
import { askService } from "./service.js";

export interface DoctorOptions extends ConnectionOptions {
  readonly service?: true;
  readonly wait: number;
  readonly baseline?: string;
  readonly json?: true;
}

export function addDoctor(program: Command, terminal: Terminal): void {
  const command = program
    .command("doctor")
    .helpGroup("Diagnose:")
    .summary("check configuration, network, login, and signing key")
    .description(
      "Checks configuration, DNS, TCP, TLS, proxy, clock, login, read access, and signing key. It logs in and out, reads lists, never moves money, and shows no secret. With --service it asks ten questions about the service whose answers change a setting, with reading requests only, and prints the settings to paste.",
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
      action<DoctorOptions>(async (options) => {
        const settings = await readSettings(options, terminal);
        if (options.service) await askService(settings, options, terminal);
        else await check(settings, options, terminal);
      }),
    );
  examples(
    command,
    "doctor --config gateway.json",
    "doctor --config gateway.json --signing-key signing-key.pem --gateway-id alpha-bank --json",
    "doctor --service --config staging.json --json > staging-service.json",
  );
}

async function check(settings: Settings, { json }: DoctorOptions, terminal: Terminal): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of examine(settings, terminal)) {
    findings.push(finding);
    if (!json) showFinding(finding, terminal);
  }
  const isWell = findings.every(({ status }) => status !== "failed");
  if (json) printJson(terminal, { isWell, findings });
  else if (isWell) print(terminal, "", styled(terminal, "green", "All checks passed."));
  else print(terminal, "", styled(terminal, "red", "Some checks failed: see above."));
  if (!isWell) throw new Exit(exitCodes.checkFailed);
}

const marks = {
  ok: ["green", "ok"],
  warning: ["yellow", "warn"],
  failed: ["red", "FAIL"],
  skipped: ["dim", "skip"],
} as const;

function showFinding({ check: name, status, found, remedy }: Finding, terminal: Terminal): void {
  const [style, mark] = marks[status];
  const line = `${styled(terminal, style, mark.padEnd(4))}  ${styled(terminal, "bold", `${name}:`)} ${printable(found)}`;
  print(terminal, wrapped(line, terminal.width));
  if (remedy !== undefined) print(terminal, wrapped(`      → ${printable(remedy)}`, terminal.width));
}
