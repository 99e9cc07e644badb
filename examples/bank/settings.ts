/** One variable of the environment. */
interface Variable<Value> {
  readonly name: string;
  readonly wanted: string;
  /** What it is where it is not set; it has to be set where there is none. */
  readonly fallback?: string;
  /** `undefined` where the text is not what is wanted. */
  readonly read: (text: string) => Value | undefined;
}

const milliseconds = (name: string, fallback: string, wanted: string): Variable<number> => ({
  name,
  fallback,
  wanted: `milliseconds: ${wanted}`,
  read: (text) => wholeNumber(text, 600_000),
});

const variables = {
  databaseUrl: {
    name: "DATABASE_URL",
    wanted: "postgresql://user:password@host:5432/database",
    read: (text: string) => (/^postgres(?:ql)?:$/.test(parsedUrl(text)?.protocol ?? "") ? text : undefined),
  },
  gatewayId: {
    name: "CROSS_BORDER_GATEWAY_ID",
    wanted: "this gateway's own id (institutionId)",
    read: (text: string) => text || undefined,
  },
  origin: {
    name: "ORIGIN",
    wanted: "where browsers find the bank: scheme, host and port, such as https://payments.bank.example",
    read: (text: string) => (/^https?:/.test(text) && parsedUrl(text)?.origin === text ? text : undefined),
  },
  secret: {
    name: "SESSION_SECRET",
    wanted: "32 characters or more, the same in all processes: it protects the forms",
    read: (text: string) => (text.length >= 32 ? text : undefined),
  },
  host: { name: "HOST", fallback: "0.0.0.0", wanted: "where to listen", read: (text: string) => text || undefined },
  port: {
    name: "PORT",
    fallback: "3000",
    wanted: "a port, or 0 for any",
    read: (text: string) => wholeNumber(text, 65_535),
  },
  logLevel: {
    name: "LOG_LEVEL",
    fallback: "info",
    wanted: "debug, info, warn or error",
    read: (text: string) => (/^(?:debug|info|warn|error)$/.test(text) ? text : undefined),
  },
  leaseMs: milliseconds("LEASE_MS", "30000", "how long a flow stays with a process that gives no sign of life"),
  readBackDelayMs: milliseconds("READ_BACK_DELAY_MS", "10000", "between two looks for a payment"),
  roundMs: milliseconds("ROUND_MS", "5000", "between two rounds of the outbox, and of the worker"),
  patienceMs: milliseconds("PATIENCE_MS", "5000", "how long a customer waits for the outcome"),
  drainMs: milliseconds("DRAIN_MS", "5000", "how long requests still arrive after SIGTERM"),
  closeMs: milliseconds("CLOSE_MS", "15000", "how long payments in flight have to come to a safe place"),
} satisfies Readonly<Record<string, Variable<unknown>>>;

/** What the environment says of this process. The library's own settings, `CROSS_BORDER_…`, are read by `readSettings`. */
export type BankSettings = {
  readonly [Name in keyof typeof variables]: NonNullable<ReturnType<(typeof variables)[Name]["read"]>>;
};

/** @throws {Error} that names every variable that is missing or wrong, and shows no value. */
export function readBankSettings(env: NodeJS.ProcessEnv): BankSettings {
  const problems: string[] = [];
  const read = Object.entries<Variable<unknown>>(variables).map(([key, variable]) => {
    const { name, fallback, wanted } = variable;
    const text = env[name] ?? fallback;
    const value = text === undefined ? undefined : variable.read(text);
    if (value === undefined)
      problems.push(`${name} ${text === undefined ? "is not set" : "is wrong"}. Wanted: ${wanted}`);
    return [key, value];
  });
  if (problems.length > 0) throw new Error(`the environment is not complete:\n${problems.join("\n")}`);
  // Each has the value that its own row has read.
  return Object.fromEntries(read) as BankSettings;
}

function wholeNumber(text: string, most: number): number | undefined {
  return /^\d{1,6}$/.test(text) && Number(text) <= most ? Number(text) : undefined;
}

function parsedUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
