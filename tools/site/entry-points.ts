/** What each entry point is for, in a line. */
export const entryPoints: Readonly<Record<string, string | undefined>> = {
  "cross-border-payments": "The client: every operation, signing keys and signatures, logins of users, and errors.",
  "cross-border-payments/desk": "A page where operators decide about held flows, behind your own login.",
  "cross-border-payments/flow": "Payments that survive crashes.",
  "cross-border-payments/journal/postgres": "A journal for flows in PostgreSQL, for many machines.",
  "cross-border-payments/journal/sqlite": "A journal for flows in a SQLite file, for the processes of one machine.",
  "cross-border-payments/opentelemetry": "Traces and metrics.",
  "cross-border-payments/reconcile":
    "After a payment: watching statuses, a period's payments, and comparing them with your ledger.",
  "cross-border-payments/sandbox": "The service in memory, for tests and for trying things out.",
  "cross-border-payments/settings": "The settings of the command, in a program.",
  "cross-border-payments/testing": "Checks of your own functions, journals and token stores, and the simulator.",
  "cross-border-payments/tokens/postgres": "One session for many processes, in PostgreSQL.",
  "cross-border-payments/tokens/redis": "One session for many processes, in Redis.",
};
