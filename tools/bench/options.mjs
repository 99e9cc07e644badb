import { parseArgs } from "node:util";

export const usage = `npm run bench -- [options]
  --quick        about a minute: few and short rounds, smaller work
  --only ROW     only rows whose id begins so (get, create-64, page, memory, flows, ...); may be given again.
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
  calls: 1_000_000,
  millionRecords: 1_000_000,
  flowBudgetMs: 4000,
};

const quick = {
  processes: 1,
  rounds: 4,
  budgetMs: 200,
  peerBudgetMs: 60,
  warmUpMs: 300,
  records: undefined,
  starts: 5,
  calls: 20_000,
  millionRecords: 100_000,
  flowBudgetMs: 1000,
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
