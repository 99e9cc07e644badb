import { command, exitCodes } from "../command.js";
import { wrapped } from "../layout.js";
import { printable } from "../printable.js";
import { readSettings, settingOptions } from "../settings.js";
import { print, printJson, styled, type Terminal } from "../terminal.js";
import { examine } from "./examine.js";
import type { Finding } from "./finding.js";

export const doctorCommand = command({
  name: "doctor",
  summary: "Checks the way to the service, from this machine's clock to the registered key.",
  description:
    "One line a check, with what to do. It logs in and out again, and reads lists; it never moves money and shows no secret. Secrets come from CROSS_BORDER_PASSWORD and CROSS_BORDER_CLIENT_SECRET or from the file, never from the command line; a terminal is asked for the password where there is none.",
  operands: [],
  options: { ...settingOptions, json: { type: "boolean", help: "as JSON" } },
  examples: [
    "doctor --config gateway.json",
    "doctor --config gateway.json --signing-key signing-key.pem --gateway-id alpha-bank --json",
  ],
  async run({ values }, terminal) {
    const settings = await readSettings(values, terminal);
    const findings: Finding[] = [];
    for await (const finding of examine(settings, terminal)) {
      findings.push(finding);
      if (!values.json) show(finding, terminal);
    }
    const isWell = findings.every(({ status }) => status !== "failed");
    if (values.json) printJson(terminal, { isWell, findings });
    else
      print(
        terminal,
        "",
        isWell
          ? styled(terminal, "green", "Nothing is wrong.")
          : styled(terminal, "red", "Something is wrong: see above."),
      );
    return isWell ? exitCodes.done : exitCodes.refuted;
  },
});

const marks = {
  ok: ["green", "ok"],
  warning: ["yellow", "look"],
  failed: ["red", "FAIL"],
  skipped: ["dim", "skip"],
} as const;

function show({ check, status, found, remedy }: Finding, terminal: Terminal): void {
  const [style, mark] = marks[status];
  const { width } = terminal;
  const name = styled(terminal, "bold", `${check}:`);
  const line = `${styled(terminal, style, mark.padEnd(4))}  ${name} ${printable(found)}`;
  print(terminal, ...wrapped(line, width, 6));
  if (remedy !== undefined) print(terminal, ...wrapped(`      → ${printable(remedy)}`, width, 8));
}
