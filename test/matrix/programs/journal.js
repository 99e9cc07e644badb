import { SqliteJournal } from "cross-border-payments/journal/sqlite";

/** For runtimes that may have SQLite. */
const state = { phase: "paid", settled: true, data: "{}", evidence: "{}" };
const claim = { owner: "o", leaseMs: 1000, nonce: "n" };
SqliteJournal.open(process.env.JOURNAL)
  .then((journal) => journal.begin("k", { service: "s", gateway: "g" }, state, claim))
  .then(
    ({ created }) => process.stdout.write(JSON.stringify({ sqlite: `created: ${created}` })),
    (error) => process.stdout.write(JSON.stringify({ sqlite: `${error.name}: ${error.message}` })),
  );
