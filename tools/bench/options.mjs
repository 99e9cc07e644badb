import { parseArgs } from "node:util";

export const usage = `npm run bench -- [options]
  --quick        about a minute: few and short rounds, smaller work
  --only ROW     only rows whose id begins so (get, create-64, page, signatures, memory, observers, flows, ...); may be given again.
                 Nothing is written then.
  --node NODE    a path, or a major version that is fetched from npm; default 24
  --rounds N     interleaved rounds in each of two processes, in one when quick; default 4
  --dist FOLDER  a build of the library other than dist/`;

const full = {
  processes: 2,
  rounds: 4,
  budgetMs: 700,
  peerBudgetMs: 350,
  warmUpMs: 1500,
  records: 100_000,
  starts: 21,
  pairs: 400,
  calls: 1_000_000,
  millionRecords: 1_000_000,
  signSeconds: 3,
  prefetchPages: 40,
  linkRuns: 5,
  pausedPayments: 30,
  observerTurns: 12,
  flowBudgetMs: 4000,
  settledFlows: 100_000,
  quotedFlows: 1000,
  abandonedFlows: 1000,
};

const quick = {
  processes: 1,
  rounds: 4,
  budgetMs: 200,
  peerBudgetMs: 60,
  warmUpMs: 300,
  records: undefined,
  starts: 5,
  pairs: 40,
  calls: 20_000,
  millionRecords: 100_000,
  signSeconds: 1,
  prefetchPages: 10,
  linkRuns: 2,
  pausedPayments: 5,
  observerTurns: 5,
  flowBudgetMs: 1000,
  settledFlows: 10_000,
  quotedFlows: 1000,
  abandonedFlows: 300,
};

/** What is to be measured, and how thoroughly. */
export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      node: { type: "string", default: "24" },
      rounds: { type: "string" },
      dist: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const amounts = values.quick ? quick : full;
  return {
    ...amounts,
    ...(values.rounds === undefined ? undefined : { rounds: Number(values.rounds) }),
    isQuick: values.quick,
    isPartial: values.only !== undefined,
    only: ({ id }) => values.only === undefined || values.only.some((beginning) => id.startsWith(beginning)),
    wantedNode: values.node,
    dist: values.dist,
    help: values.help,
  };
}
