/** One page of the site. */
export interface Page {
  /** Its address, and its file in `docs/` without the extension. */
  readonly name: string;
  /** Its file in the repository, if it is another one. */
  readonly source?: string;
  readonly title: string;
  /** What it is about, in one line. */
  readonly about: string;
  /** Further words by which the search finds the page. */
  readonly alsoFoundBy?: string;
}

/** Every page, under the headings of the sidebar, in the order of reading. */
export const chapters: Readonly<Record<string, readonly Page[]>> = {
  "Get started": [
    { name: "overview", source: "README.md", title: "Overview", about: "what the library does, on one page" },
    { name: "install", title: "Install", about: "package managers, requirements, and entry points" },
    {
      name: "quickstart",
      title: "Quickstart",
      about: "send a payment from an empty folder, then switch to the real service",
      alsoFoundBy: "getting started tutorial first payment",
    },
    {
      name: "back-end",
      title: "Build a back end",
      about: "quote and confirm in two requests, a worker, and an orderly shutdown",
      alsoFoundBy: "server fastify",
    },
    {
      name: "concepts",
      title: "Concepts",
      about: "the terms that the other pages use",
      alsoFoundBy: "glossary vocabulary",
    },
    { name: "faq", title: "Frequently asked questions", about: "short answers", alsoFoundBy: "help" },
  ],
  "Make API calls": [
    {
      name: "api-calls",
      title: "Make API calls",
      about: "create, get, update, and list, with the options of a call, for every resource",
      alsoFoundBy: "create get update list resource payment intent gateway withdrawal pay",
    },
    {
      name: "liquidity-providers",
      title: "Liquidity providers",
      about: "deposits, withdrawals, exchange rates, and transfers",
      alsoFoundBy: "create a deposit withdrawal exchange rate transfer",
    },
    {
      name: "client",
      title: "Client options",
      about: "every option, with its default",
      alsoFoundBy: "configuration settings timeout headers",
    },
    {
      name: "tokens",
      title: "Authentication",
      about: "credentials, and how access tokens are obtained and renewed",
      alsoFoundBy: "auth login token password credentials authentication",
    },
    {
      name: "signing",
      title: "Signing requests",
      about: "keys, KMS, and verifying records",
      alsoFoundBy: "signature rsa key kms",
    },
    {
      name: "lists",
      title: "Lists and pagination",
      about: "sort, filter, resume, and read every record once",
      alsoFoundBy: "list payments pagination paging cursor filter sort",
    },
    {
      name: "errors",
      title: "Errors and retries",
      about: "what to do after a failure, every class, and what is retried",
      alsoFoundBy: "timeout retry exception error handling",
    },
    {
      name: "raw-requests",
      title: "Raw requests",
      about: "paths that the package has no method for, and OpenAPI",
      alsoFoundBy: "custom endpoint openapi swagger",
    },
    {
      name: "testing",
      title: "Testing",
      about: "lost responses and other faults, mocks, and checks of your own functions",
      alsoFoundBy: "mock msw vitest jest",
    },
    {
      name: "sandbox",
      title: "Sandbox",
      about: "the service in memory: options, quirks, console, and assumptions",
      alsoFoundBy: "mock console fake service",
    },
    {
      name: "invalid-signature",
      title: "Invalid signature",
      about: "find out why the service rejects a signature",
      alsoFoundBy: "signature rejected 400",
    },
  ],
  "Send payments": [
    {
      name: "durable-flow",
      title: "Durable flows",
      about: "payments that survive crashes: quote, confirm, outcomes, options, phases, and guarantees",
      alsoFoundBy: "idempotency idempotent retry exactly once timeout pending recover lease owner base url",
    },
    {
      name: "funds-functions",
      title: "Implement takeFunds and releaseFunds",
      about: "what your two functions must do",
      alsoFoundBy: "ledger idempotent requirements",
    },
    {
      name: "ledger-in-sql",
      title: "A ledger in SQL",
      about: "takeFunds and releaseFunds in one transaction each",
      alsoFoundBy: "database balance transaction",
    },
    {
      name: "orders",
      title: "Store orders and flows together",
      about: "an outbox that survives a crash between the two",
      alsoFoundBy: "outbox transaction queue",
    },
    {
      name: "held-flows",
      title: "Review held payments",
      about: "what an operator checks and decides",
      alsoFoundBy: "manual review unknown operator support",
    },
    {
      name: "two-people",
      title: "Two-person approval",
      about: "one person proposes a decision, and another approves it",
      alsoFoundBy: "four eyes approval maker checker held",
    },
    {
      name: "desk",
      title: "Operator console",
      about: "a web page for operators, behind your own login",
      alsoFoundBy: "operator page admin held desk",
    },
    {
      name: "reconcile",
      title: "Track payment status",
      about: "new payments and status changes, and why there are no webhooks",
      alsoFoundBy: "webhook webhooks callback event notification watch status",
    },
    {
      name: "statement",
      title: "Reconcile your ledger",
      about: "compare your ledger with the payments of the service",
      alsoFoundBy: "reconciliation report export statement",
    },
    {
      name: "refund",
      title: "Refund a payment",
      about: "a payment that was never made, and one that failed later",
      alsoFoundBy: "refund reversal reverted chargeback",
    },
    {
      name: "frameworks",
      title: "Frameworks",
      about: "Express, Hono, NestJS, and Next",
      alsoFoundBy: "nextjs next react vercel nest express hono server framework middleware",
    },
    {
      name: "front-end",
      title: "Browser and user login",
      about: "pages and servers whose users log in",
      alsoFoundBy: "pkce oauth browser page session",
    },
    {
      name: "serverless",
      title: "Serverless",
      about: "AWS Lambda and Cloudflare Workers",
      alsoFoundBy: "lambda worker edge function cloudflare",
    },
    {
      name: "fleet",
      title: "Share tokens across processes",
      about: "one session for many processes",
      alsoFoundBy: "redis postgres token store fleet",
    },
    {
      name: "workflow-engines",
      title: "Workflow engines",
      about: "pg-boss, DBOS, BullMQ, Temporal, and plain queues",
      alsoFoundBy: "queue job temporal",
    },
  ],
  Operate: [
    {
      name: "go-live",
      title: "Go-live checklist",
      about: "before the first payment with real money",
      alsoFoundBy: "production checklist",
    },
    {
      name: "production",
      title: "In production",
      about: "shutdown, proxies, mutual TLS, and minimum privileges",
      alsoFoundBy: "deploy shutdown timeout proxy certificate",
    },
    {
      name: "containers",
      title: "Containers",
      about: "Docker and Kubernetes: probes, shutdown, and replicas",
      alsoFoundBy: "kubernetes docker compose deploy liveness readiness sigterm helm",
    },
    {
      name: "observability",
      title: "Observability",
      about: "health check, logs, hooks, and alarms",
      alsoFoundBy: "logging logs pino winston health alarm monitoring",
    },
    {
      name: "opentelemetry",
      title: "Metrics and tracing",
      about: "OpenTelemetry, gauges, Prometheus, and Grafana",
      alsoFoundBy: "otel tracing spans metrics prometheus grafana alertmanager statsd gauges",
    },
    {
      name: "journals",
      title: "Journals",
      about: "SQLite and PostgreSQL: requirements, encryption, pruning",
      alsoFoundBy: "database storage",
    },
    { name: "own-journal", title: "Implement a journal", about: "the interface, and how verifyJournal checks it" },
    {
      name: "journal-versions",
      title: "Migrations and permissions",
      about: "migrations of a journal, and database roles",
      alsoFoundBy: "upgrade grants",
    },
    {
      name: "restore",
      title: "Restore a journal",
      about: "recover from a backup without paying twice",
      alsoFoundBy: "backup disaster recovery migrate",
    },
    {
      name: "key-rotation",
      title: "Replace the signing key",
      about: "with two keys, and no payment refused",
      alsoFoundBy: "rotate rotation key",
    },
    { name: "security-model", title: "Security model", about: "what is protected against whom, and what is not" },
  ],
  Reference: [
    { name: "error-codes", title: "Error codes", about: "what happened and what to do, for each code" },
    {
      name: "command",
      title: "CLI",
      about: "every command, exit codes, settings, lists, flows, and the sandbox",
      alsoFoundBy: "cli command line terminal doctor export csv operator",
    },
    {
      name: "runtimes",
      title: "Runtimes",
      about: "tested versions and sizes",
      alsoFoundBy: "node bun deno browser typescript",
    },
    {
      name: "bundling",
      title: "Bundling",
      about: "esbuild, rolldown, vite, webpack, and bun",
      alsoFoundBy: "bundle webpack esbuild",
    },
    {
      name: "open-questions",
      title: "What the description leaves open",
      about: "each question, how this library reads it, and the option that changes that",
    },
    {
      name: "migration",
      title: "Migration",
      about: "what breaks between releases, and what to do",
      alsoFoundBy: "upgrade breaking changes",
    },
    {
      name: "benchmarks",
      title: "Benchmarks",
      about: "CPU time beside undici and other clients",
      alsoFoundBy: "performance speed",
    },
    { name: "simulation", title: "How we test", about: "what is proved of durable flows, and what is not covered" },
  ],
};

export const pages: readonly Page[] = Object.values(chapters).flat();
