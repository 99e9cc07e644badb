/** What each entry point is for, in a line. */
export const entryPoints: Readonly<Record<string, string | undefined>> = {
  "cross-border-payments": "The client, signing, user logins, and errors.",
  "cross-border-payments/desk": "The operator console.",
  "cross-border-payments/flow": "Durable flows.",
  "cross-border-payments/journal/postgres": "A journal in PostgreSQL, for many machines.",
  "cross-border-payments/journal/sqlite": "A journal in a SQLite file, for one machine.",
  "cross-border-payments/opentelemetry": "Metrics and traces.",
  "cross-border-payments/reconcile": "Payment status, the payments of a period, and the comparison with your ledger.",
  "cross-border-payments/sandbox": "The service in memory.",
  "cross-border-payments/settings": "The CLI's settings, in a program.",
  "cross-border-payments/testing": "Checks of your own functions, journals, and token stores.",
  "cross-border-payments/tokens/postgres": "Shared access tokens in PostgreSQL.",
  "cross-border-payments/tokens/redis": "Shared access tokens in Redis.",
};
