/** One page of the site. */
export interface Page {
  /** Its file in `docs/`, without the ending. */
  readonly name: string;
  readonly title: string;
  /** What it answers, in one line. */
  readonly about: string;
}

/** Every page, under the headings of the sidebar, in the order of reading. */
export const chapters: Readonly<Record<string, readonly Page[]>> = {
  "Making payments": [
    { name: "overview", title: "Overview", about: "what the library does, from the first payment to the last record" },
    {
      name: "first-payment",
      title: "The first payment",
      about: "from an empty folder to a paid payment, and what changes for the real service",
    },
    {
      name: "durable-flow",
      title: "The durable flow",
      about: "payments that survive crashes: states, owners, operators, and what is guaranteed",
    },
    { name: "journals", title: "Journals", about: "SQLite, PostgreSQL or your own; encryption, pruning, migrations" },
    {
      name: "reconcile",
      title: "After a payment",
      about: "watching payments, and comparing your ledger with the service's",
    },
    {
      name: "lists",
      title: "Lists and sync jobs",
      about: "every record once: cursors, resuming, how the end is proved, and what a PagingError asks for",
    },
    { name: "client", title: "The client", about: "every resource, what calls take and give, and every option" },
    { name: "errors", title: "Errors", about: "what to do when a call fails, and every code" },
  ],
  "In production": [
    {
      name: "tokens",
      title: "Tokens",
      about: "how they are obtained and renewed, what happens after refusals, and what to watch",
    },
    { name: "signing", title: "Signing", about: "what is signed, keys in a KMS, and verifying stored payments" },
    {
      name: "invalid-signature",
      title: "Invalid signature",
      about: "how the signed text is made, and how to find out which part of it differs",
    },
    {
      name: "observability",
      title: "Observability",
      about: "logs, OpenTelemetry, diagnostics channels and a health check",
    },
    {
      name: "production",
      title: "In production",
      about: "shutting down, proxies, mutual TLS, alarms and least grants",
    },
    {
      name: "key-rotation",
      title: "Replacing the signing key",
      about: "with two keys, and no payment refused",
    },
    {
      name: "operator",
      title: "The operator's day",
      about: "what to look at, what to decide, and when to do nothing",
    },
  ],
  "Where it runs": [
    { name: "front-end", title: "In a front end", about: "pages and servers whose users log in" },
    { name: "fleet", title: "In a fleet", about: "one session for many processes" },
    { name: "lambda", title: "In a lambda", about: "functions that are frozen and thrown away" },
    { name: "worker", title: "In a worker", about: "Cloudflare Workers" },
    { name: "runtimes", title: "Runtimes", about: "what is tested, with versions and sizes" },
    {
      name: "workflow-engines",
      title: "Inside a workflow engine",
      about: "the durable flow in the jobs of pg-boss, DBOS, BullMQ, Temporal and plain queues",
    },
    { name: "bundling", title: "Bundling", about: "esbuild, rolldown, vite, webpack and bun" },
  ],
  Tools: [
    { name: "command", title: "The command", about: "keys, doctor, explain-signature, lists, evidence" },
    { name: "sandbox", title: "The sandbox", about: "the described service in memory, for tests" },
    { name: "testing", title: "Testing", about: "lost responses and other faults, and checks of your own functions" },
    {
      name: "raw-requests",
      title: "Raw requests",
      about: "paths that the description does not have yet, with tokens, signatures and outcomes as for any other",
    },
    { name: "openapi", title: "OpenAPI", about: "the operations in OpenAPI 3.1" },
  ],
  "Why to trust it": [
    {
      name: "security-model",
      title: "The security model",
      about: "what is protected against whom, and what is not",
    },
    {
      name: "open-questions",
      title: "What the description leaves open",
      about: "each question, how this library reads it, and the option that changes that",
    },
    {
      name: "probe",
      title: "What your service does",
      about: "measuring on a staging system what the description leaves open, and the settings that follow",
    },
    {
      name: "promises",
      title: "Promises",
      about: "each sentence of the README and of some pages, and the tests that hold it",
    },
    { name: "simulation", title: "The simulator", about: "the flow in a world in which everything fails" },
    { name: "mutation", title: "Mutation testing", about: "whether a test notices when the code is changed" },
    { name: "migration", title: "Migration", about: "what breaks, and what has to be done" },
  ],
};

export const pages: readonly Page[] = Object.values(chapters).flat();
