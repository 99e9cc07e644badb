/** One page of the site. */
export interface Page {
  /** Of its address, and of its file in `docs/`, without the ending. */
  readonly name: string;
  /** Its file in the repository, where that is another one. */
  readonly source?: string;
  readonly title: string;
  /** What it answers, in one line. */
  readonly about: string;
  /** Words that people search for and that the page answers, whether or not it has them. */
  readonly alsoFoundBy?: string;
}

/** Every page, under the headings of the sidebar, in the order of reading. */
export const chapters: Readonly<Record<string, readonly Page[]>> = {
  Start: [
    { name: "overview", source: "README.md", title: "Overview", about: "what the library does, on one page" },
    { name: "install", title: "Install", about: "package managers, what it needs, and the entry points" },
    {
      name: "first-payment",
      title: "The first payment",
      about: "from an empty folder to a paid payment, and what changes for the real service",
      alsoFoundBy: "getting started tutorial quickstart",
    },
    {
      name: "first-back-end",
      title: "The first back end",
      about: "quote and confirm in two requests, a worker, and shutting down",
      alsoFoundBy: "server fastify",
    },
    {
      name: "concepts",
      title: "Concepts",
      about: "the twelve words that the other pages use",
      alsoFoundBy: "glossary vocabulary",
    },
  ],
  Guides: [
    {
      name: "durable-flow",
      title: "The durable flow",
      about: "payments that survive crashes: quote, confirm, outcomes, options, phases, and what is guaranteed",
      alsoFoundBy: "idempotency idempotent retry exactly once timeout pending recover lease owner base url",
    },
    {
      name: "funds-functions",
      title: "Your two functions",
      about: "what takeFunds and releaseFunds have to keep",
      alsoFoundBy: "ledger idempotent",
    },
    {
      name: "ledger-in-sql",
      title: "A ledger in SQL",
      about: "takeFunds and releaseFunds in one transaction each, for PostgreSQL and SQLite",
      alsoFoundBy: "database balance transaction",
    },
    {
      name: "orders",
      title: "An order and its flow",
      about: "stored together, and what happens when the process dies between them",
      alsoFoundBy: "outbox transaction queue",
    },
    {
      name: "held-flows",
      title: "Held flows",
      about: "what an operator decides, and what the service could promise so that no operator must",
      alsoFoundBy: "manual review unknown",
    },
    {
      name: "reconcile",
      title: "After a payment",
      about: "watching payments: what becomes of them after they were made",
    },
    {
      name: "statement",
      title: "Yesterday's statement",
      about: "comparing your ledger with the service's payments, and the payments of a period",
      alsoFoundBy: "reconciliation report export",
    },
    {
      name: "webhooks",
      title: "Webhooks?",
      about: "there are none, and what to do instead",
      alsoFoundBy: "webhook callback event notification",
    },
    {
      name: "refund",
      title: "A refund by hand",
      about: "a payment that was never made, and one that failed later",
      alsoFoundBy: "refund reversal reverted chargeback",
    },
    {
      name: "lists",
      title: "Lists and sync jobs",
      about: "every record once: cursors, a job that resumes, sorting and filters",
      alsoFoundBy: "pagination paging",
    },
    {
      name: "testing",
      title: "Testing",
      about: "lost responses and other faults, and checks of your own functions",
      alsoFoundBy: "mock msw",
    },
    {
      name: "nestjs",
      title: "With NestJS",
      about: "a module, a controller, shutting down, and the desk behind a login",
      alsoFoundBy: "nest server framework",
    },
    {
      name: "next",
      title: "With Next",
      about: "route handlers, one flow for the process, and the desk behind a login",
      alsoFoundBy: "nextjs react vercel server framework",
    },
    {
      name: "express",
      title: "With Express",
      about: "routes, cancellation, shutting down, and the desk behind a login",
      alsoFoundBy: "server framework middleware",
    },
    {
      name: "hono",
      title: "With Hono",
      about: "routes, cancellation, shutting down, and the desk behind a login",
      alsoFoundBy: "server framework middleware",
    },
    { name: "front-end", title: "In a front end", about: "pages and servers whose users log in" },
    { name: "lambda", title: "In a lambda", about: "functions that are frozen and thrown away" },
    { name: "worker", title: "In a worker", about: "Cloudflare Workers" },
    { name: "fleet", title: "In a fleet", about: "one session for many processes" },
    {
      name: "workflow-engines",
      title: "Inside a workflow engine",
      about: "the durable flow in the jobs of pg-boss, DBOS, BullMQ, Temporal and plain queues",
    },
    { name: "faq", title: "Frequent questions", about: "short answers, and where the long ones are" },
  ],
  Operate: [
    { name: "go-live", title: "The go-live checklist", about: "before the first payment with somebody's money" },
    {
      name: "probe",
      title: "What your service does",
      about: "measuring on a staging system what the description leaves open, and the settings that follow",
      alsoFoundBy: "staging test system",
    },
    {
      name: "production",
      title: "In production",
      about: "shutting down, proxies, mutual TLS, alarms and least grants",
      alsoFoundBy: "deploy shutdown timeout",
    },
    {
      name: "containers",
      title: "In containers",
      about: "Docker and Kubernetes: probes, shutting down, one replica and many",
      alsoFoundBy: "kubernetes docker compose deploy liveness readiness sigterm helm",
    },
    { name: "operator", title: "The operator's day", about: "what to look at, what to decide, and when to do nothing" },
    {
      name: "two-people",
      title: "Two people",
      about: "one proposes a decision, and another approves it",
      alsoFoundBy: "four eyes approval maker checker held",
    },
    {
      name: "desk",
      title: "The desk",
      about: "a page for the people who decide, behind your own login",
      alsoFoundBy: "operator page admin held",
    },
    {
      name: "observability",
      title: "Observability",
      about: "a health check, logs, hooks and diagnostics channels",
      alsoFoundBy: "pino winston probe",
    },
    {
      name: "opentelemetry",
      title: "OpenTelemetry",
      about: "traces and metrics, and setting up the SDK",
      alsoFoundBy: "otel tracing spans metrics",
    },
    {
      name: "gauges",
      title: "Gauges and alarms",
      about: "how many payments wait and for how long, rules for Prometheus and a dashboard for Grafana",
      alsoFoundBy: "prometheus grafana alertmanager statsd metrics monitoring",
    },
    {
      name: "journals",
      title: "Journals",
      about: "SQLite or PostgreSQL: what they cost and hold, encryption, pruning",
    },
    { name: "own-journal", title: "A journal of your own", about: "the interface, and how verifyJournal checks it" },
    {
      name: "journal-versions",
      title: "Versions and grants",
      about: "migrations of a journal, the way back, and who may change tables",
    },
    {
      name: "restore",
      title: "Restoring a journal",
      about: "coming back from a backup without paying twice, and moving a journal on purpose",
      alsoFoundBy: "backup disaster recovery migrate",
    },
    { name: "key-rotation", title: "Replacing the signing key", about: "with two keys, and no payment refused" },
    {
      name: "invalid-signature",
      title: "Invalid signature",
      about: "how the signed text is made, and how to find out which part of it differs",
    },
  ],
  Reference: [
    { name: "client", title: "The client", about: "every resource, what calls take and give, and every option" },
    {
      name: "errors",
      title: "Errors",
      about: "what to do when a call fails, every class, and what is retried",
      alsoFoundBy: "timeout retry exception",
    },
    { name: "error-codes", title: "Error codes", about: "a section for each code: what happened, and what to do" },
    {
      name: "tokens",
      title: "Tokens",
      about: "how they are obtained and renewed, what happens after refusals, and what to watch",
    },
    { name: "signing", title: "Signing", about: "what is signed, keys in a KMS, and verifying stored payments" },
    {
      name: "command",
      title: "The command",
      about: "every command, exit codes and settings; doctor, explain-signature, verify, evidence",
    },
    {
      name: "command-lists",
      title: "The command: lists",
      about: "records as a table, JSON or CSV, over kills, and as they come",
    },
    {
      name: "command-flows",
      title: "The command: flows",
      about: "what waits for a person, and how it is decided, pruned and moved",
    },
    { name: "command-sandbox", title: "The command: sandbox", about: "a service to try things out with" },
    { name: "sandbox", title: "The sandbox", about: "the described service in memory, for tests: options and quirks" },
    { name: "console", title: "The sandbox: console", about: "a page that shows what happens in a sandbox" },
    {
      name: "sandbox-invented",
      title: "The sandbox: what was invented",
      about: "how it decides what the description leaves open",
    },
    {
      name: "raw-requests",
      title: "Raw requests",
      about: "paths that the description does not have yet, with tokens, signatures and outcomes as for any other",
    },
    { name: "runtimes", title: "Runtimes", about: "what is tested, with versions and sizes" },
    { name: "bundling", title: "Bundling", about: "esbuild, rolldown, vite, webpack and bun" },
    { name: "openapi", title: "OpenAPI", about: "the operations in OpenAPI 3.1" },
    { name: "migration", title: "Migration", about: "what breaks, and what has to be done" },
  ],
  Inside: [
    {
      name: "watch-guarantees",
      title: "What a watch guarantees",
      about: "which payments and changes watchPayments hands out for certain, and what it takes for granted",
    },
    { name: "security-model", title: "The security model", about: "what is protected against whom, and what is not" },
    {
      name: "open-questions",
      title: "What the description leaves open",
      about: "each question, how this library reads it, and the option that changes that",
    },
    {
      name: "simulation",
      title: "How we test",
      about: "what is proved of the flow, for which bounds, what is assumed, and what is not covered",
    },
  ],
};

export const pages: readonly Page[] = Object.values(chapters).flat();
