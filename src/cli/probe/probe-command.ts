import { readFile, stat, writeFile } from "node:fs/promises";
import { parseAuthOptions } from "../../auth/auth-options.js";
import { clock } from "../../core/clock.js";
import { counted } from "../../core/describe.js";
import { InvalidArgumentError } from "../../core/errors.js";
import { decimalNumeral } from "../../money.js";
import { type PaymentIntentRequest, paymentIntents } from "../../resources/payment-intents.js";
import { readConnection } from "../../settings/connection.js";
import { authOf } from "../../settings/settings.js";
import { parseSigningKey } from "../../signing/keys.js";
import { parseBaseUrl } from "../../wire/base-url.js";
import { openTransport } from "../../wire/open-transport.js";
import { parseObject } from "../../wire/response.js";
import { Interrupted } from "../ask-secret.js";
import { command, exitCodes, UsageError } from "../command.js";
import { parseDuration } from "../duration.js";
import { readText } from "../files.js";
import { wrapped } from "../layout.js";
import { printable, toJson } from "../printable.js";
import { readSettings, type Settings, settingOptions } from "../settings.js";
import { withPassphrase } from "../signing-key.js";
import { print, printJson, styled, type Terminal } from "../terminal.js";
import { type Change, changesSince, parseBaseline } from "./baseline.js";
import { type Asked, askQuestion, mostRequests } from "./interview.js";
import { Payments } from "./payments.js";
import { Probe } from "./probe.js";
import { Prober } from "./prober.js";
import type { Question } from "./question.js";
import { questions } from "./questions.js";
import { isPage, madeLines, type Report, reportOf, toMarkdown } from "./report.js";

export const probeCommand = command({
  name: "probe",
  summary: "Measures what the service does where its description is silent.",
  description:
    "For a staging system. It reads only, one request after the other, keeps to Retry-After, and sends no more requests than --budget. With --write it makes intents and payments too, by --intent, between two gateways of your own: it says beforehand how many, and asks. Each answer says how often it was tried, since what was seen is no promise.",
  operands: [],
  options: {
    write: { type: "boolean", help: "make intents and payments too: needs --intent and signingKey" },
    intent: {
      type: "string",
      value: "FILE",
      help: "for --write: the fields of an intent, as JSON, which all intents and payments have",
    },
    amount: { type: "string", value: "AMOUNT", help: "for --write: receiverAmount, in place of that in the file" },
    yes: { type: "boolean", help: "for --write: don't ask" },
    only: {
      type: "string",
      value: "QUESTION",
      multiple: true,
      help: "ask this question alone; can be given several times",
    },
    budget: { type: "string", value: "COUNT", help: "the most requests that are sent; 600 unless given" },
    trials: {
      type: "string",
      value: "COUNT",
      help: "for --write: payments whose listing is waited for; 5 unless given",
    },
    patience: { type: "string", value: "DURATION", help: "the longest that a question waits; 90s unless given" },
    out: { type: "string", value: "FILE", help: "write the page for people to this file, as Markdown" },
    baseline: {
      type: "string",
      value: "FILE",
      help: "what --json wrote earlier: exit code 1 where an answer has changed",
    },
    ...settingOptions,
    json: { type: "boolean", help: "as JSON, with every request" },
  },
  examples: [
    "probe --config staging.json",
    "probe --config staging.json --out staging.md --json",
    "probe --config staging.json --write --intent intent.json --amount 0.10",
    "probe --config staging.json --baseline earlier.json",
  ],
  async run({ values }, terminal) {
    const budget = countOf("budget", values.budget, 600, 100_000);
    const trials = countOf("trials", values.trials, 5, 100);
    const patienceMs = parseDuration("patience", values.patience ?? "90s");
    const writes = values.write === true;
    const wanted = wantedQuestions(values.only, writes);
    const intent = await readIntent(values, terminal);
    const earlier =
      values.baseline === undefined
        ? undefined
        : parseBaseline(await readFile(values.baseline, "utf8"), values.baseline);
    const settings = await readSettings(values, terminal);
    const auth = authOf(settings);
    // As a client would refuse it.
    parseAuthOptions(auth);
    const signingKey = intent === undefined ? undefined : await readKey(settings, intent, terminal);
    // While nothing has been sent.
    if (values.out !== undefined) await assertPage(values.out);
    if (intent !== undefined) await confirm(wanted, intent, trials, values.yes === true, terminal);

    const stop = new AbortController();
    void terminal.untilStopped().then(() => stop.abort());
    const connection = await readConnection(settings, terminal.env);
    const transport = openTransport({
      connections: 1,
      connectTimeoutMs: 10_000,
      ...(await connection.clientOptions()),
    });
    const baseUrl = parseBaseUrl(settings.baseUrl, "baseUrl");
    const { signal } = stop;
    const prober = new Prober({ baseUrl, auth, transport, budget, patienceMs, signal });
    const payments =
      intent === undefined || signingKey === undefined ? undefined : new Payments({ prober, intent, signingKey });
    const startedAtMs = clock.wallMs();
    const asked: (Asked & { question: Question })[] = [];
    try {
      // Without a session no question has an answer.
      await prober.token();
      const probe = new Probe(prober, connection, trials, payments);
      for (const question of wanted) {
        showProgress(terminal, question, asked.length, wanted.length, prober, budget);
        const one = await askQuestion(question, probe);
        asked.push({ ...one, question });
        if (!values.json) showAsked(one, terminal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await prober.close();
      await transport.close();
    }
    const report = reportOf({
      ...{ asked, prober, made: payments?.made ?? [], startedAtMs, endedAtMs: clock.wallMs(), budget },
      ...{ isInterrupted: signal.aborted, writes },
    });
    const changes = earlier === undefined ? undefined : changesSince(earlier, report.questions, questions);
    if (values.out !== undefined) await writeFile(values.out, toMarkdown(report), { mode: 0o600 });
    show(report, changes, values.json === true, values.out, terminal);
    if (signal.aborted) throw new Interrupted();
    return changes === undefined || changes.length === 0 ? exitCodes.done : exitCodes.refuted;
  },
});

/** @throws {InvalidArgumentError} where another file would be overwritten, such as that of the settings. */
async function assertPage(path: string): Promise<void> {
  await writeFile(path, "", { flag: "a", mode: 0o600 });
  const isFile = (await stat(path)).isFile();
  const text = isFile ? await readFile(path, "utf8") : "";
  if (text === "" || isPage(text)) return;
  throw new InvalidArgumentError(`${path} is not empty, and no page of this command: give --out another file`);
}

function wantedQuestions(only: readonly string[] | undefined, writes: boolean): readonly Question[] {
  const unknown = only?.find((id) => !questions.some((one) => one.id === id));
  if (unknown !== undefined) {
    throw new UsageError(
      `there is no question ${JSON.stringify(unknown)}; there are ${questions.map(({ id }) => id).join(", ")}`,
    );
  }
  const closed = questions.find(({ id, makes }) => only?.includes(id) && makes !== undefined && !writes);
  if (closed !== undefined) throw new UsageError(`${closed.id} makes intents or payments: it needs --write`);
  return questions.filter(
    ({ id, makes }) => (writes || makes === undefined) && (only === undefined || only.includes(id)),
  );
}

/** @throws {UsageError} */
function countOf(option: string, text: string | undefined, byDefault: number, most: number): number {
  if (text === undefined) return byDefault;
  if (/^\d{1,6}$/.test(text) && Number(text) >= 1 && Number(text) <= most) return Number(text);
  throw new UsageError(`--${option} is a number from 1 to ${most}`);
}

interface IntentValues {
  readonly write?: boolean | undefined;
  readonly intent?: string | undefined;
  readonly amount?: string | undefined;
}

/** What every intent has; undefined without --write. */
async function readIntent(values: IntentValues, terminal: Terminal): Promise<PaymentIntentRequest | undefined> {
  const { write, intent: file, amount } = values;
  if (write !== true) {
    if (file !== undefined || amount !== undefined) throw new UsageError("--intent and --amount are for --write only");
    return undefined;
  }
  if (file === undefined) throw new UsageError("--write needs --intent: what intents and payments are made of");
  const fields = paymentIntents.create.body?.required ?? [];
  const given = {
    ...parseObject(await readText(file, terminal)),
    ...(amount !== undefined && { receiverAmount: amount }),
  };
  const wrong = fields.find((name) => typeof Reflect.get(given, name) !== "string");
  if (wrong !== undefined)
    throw new InvalidArgumentError(`${file}: ${wrong} is missing, or no text; an intent has ${fields.join(", ")}`);
  const unknown = Object.keys(given).find((name) => !fields.includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`${file}: ${printable(unknown)} is no field of an intent`);
  const intent = given as unknown as PaymentIntentRequest;
  if (!decimalNumeral.test(intent.receiverAmount))
    throw new InvalidArgumentError("receiverAmount is no decimal numeral");
  return intent;
}

async function readKey(settings: Settings, { senderGatewayId }: PaymentIntentRequest, terminal: Terminal) {
  const { signingKey: file, gatewayId } = settings;
  if (file === undefined)
    throw new UsageError(
      "signingKey is missing: give it by --signing-key, CROSS_BORDER_SIGNING_KEY, or a file (--config)",
    );
  if (gatewayId !== undefined && gatewayId !== senderGatewayId) {
    throw new UsageError(`the intent is of ${printable(senderGatewayId)}, and gatewayId is ${printable(gatewayId)}`);
  }
  const key = await withPassphrase(await readFile(file, "utf8"), file, terminal);
  parseSigningKey(key);
  return key;
}

/** Says what would be made. @throws {UsageError} where nobody can agree; {Interrupted} where somebody does not. */
async function confirm(
  wanted: readonly Question[],
  { senderGatewayId, receiverGatewayId, receiverAmount, receiverCurrency }: PaymentIntentRequest,
  trials: number,
  isAgreed: boolean,
  { stderr, ask }: Terminal,
): Promise<void> {
  const most = (kind: keyof NonNullable<Question["makes"]>) =>
    wanted.reduce((sum, { makes, isPerTrial }) => sum + (makes?.[kind] ?? 0) * (isPerTrial ? trials : 1), 0);
  const requests = wanted.reduce((sum, question) => sum + mostRequests(question, trials), 0);
  const update = most("updates") === 0 ? "" : `, and update ${printable(senderGatewayId)}, which is undone`;
  stderr.write(
    `It will make at most ${counted(most("intents"), "intent")} and ${counted(most("payments"), "payment")}, of ${printable(`${receiverAmount} ${receiverCurrency} each, from ${senderGatewayId} to ${receiverGatewayId}`)}${update}. Nothing takes payments back. It sends at most ${requests} requests.\n`,
  );
  if (isAgreed) return;
  if (ask === undefined) throw new UsageError("nobody is there to agree: --yes does");
  if ((await ask("Type yes to go on, which is not shown: ")) === "yes") return;
  stderr.write("Nothing was sent.\n");
  throw new Interrupted();
}

/** A line that the next one replaces, since a question can take minutes. */
function showProgress(
  { stderr, showsServiceText: isTerminal }: Terminal,
  { id }: Question,
  done: number,
  all: number,
  { requests }: Prober,
  budget: number,
): void {
  if (isTerminal) stderr.write(`\r${done + 1} of ${all}: ${id}; ${requests.length} of ${budget} requests\x1b[K`);
}

const marks = {
  answered: ["green", "ok"],
  open: ["yellow", "open"],
  failed: ["red", "FAIL"],
  "left out": ["dim", "skip"],
} as const;

function showAsked({ id, status, says, answer }: Asked, terminal: Terminal): void {
  const { width, stderr, showsServiceText: isTerminal } = terminal;
  if (isTerminal) stderr.write("\r\x1b[K");
  if (width === undefined) return;
  const [style, mark] = marks[status];
  const sure = answer === undefined ? "" : ` (${counted(answer.trials, "trial")})`;
  const line = `${styled(terminal, style, mark.padEnd(4))}  ${styled(terminal, "bold", `${id}:`)} ${printable(says)}${sure}`;
  print(terminal, ...wrapped(line, width, 6));
}

/** What is left to show in the end. */
function show(
  report: Report,
  changes: readonly Change[] | undefined,
  isJson: boolean,
  out: string | undefined,
  terminal: Terminal,
): void {
  if (isJson) {
    printJson(terminal, changes === undefined ? report : { ...report, changes });
    return;
  }
  const { width } = terminal;
  if (width === undefined) print(terminal, toMarkdown(report).trimEnd());
  else {
    const { sent, budget } = report.requests;
    print(
      terminal,
      "",
      ...wrapped(`${sent} of ${budget} requests in ${report.seconds} s.`, width),
      ...madeLines(report.made),
    );
    for (const [place, values] of Object.entries(report.settings)) print(terminal, `${place}: ${toJson(values)}`);
    for (const { id, toAsk } of report.questions)
      if (toAsk !== undefined) print(terminal, ...wrapped(`Ask the operators (${id}): ${toAsk}`, width));
    if (out !== undefined) print(terminal, `The page is in ${out}.`);
  }
  if (changes?.length === 0) print(terminal, "", "Nothing has changed since the baseline.");
  for (const { id, before, now } of changes ?? []) {
    print(terminal, ...wrapped(printable(`CHANGED  ${id}: ${before} → ${now}`), width, 9));
  }
}
