import { contenders } from "./contenders.mjs";
import { sample } from "./measure.mjs";

/** One contender in a process of its own: `worker.mjs NAME ORIGIN`, told over IPC what to measure. */
const [, , name, origin] = process.argv;

const contender = await contenders[name](origin).catch((error) => {
  process.send({ failed: String(error) });
  process.exit();
});
process.send({ ready: true });

process.on("message", ({ row, budgetMs }) => {
  if (contender[row.work] === undefined) return process.send({ failed: "it has no such call" });
  sample(contender, row, budgetMs).then(
    (result) => process.send({ result }),
    (error) => process.send({ failed: String(error?.stack ?? error) }),
  );
});
process.on("disconnect", () => process.exit());
