import { Worker, type WorkerOptions } from "node:worker_threads";

/** What StrykerJS keeps in each thread: the change that is on, and which changes each test met. */
interface Mutation {
  readonly activeMutant?: string;
  readonly currentTestId?: string;
  mutantCoverage?: { readonly static: object; readonly perTest: Record<string, Record<string, number>> };
}

const mark = /\bstry(?:MutAct|Cov)_9fa48\(([^)]*)\)/g;

/** Switches changes on in a thread whose program is the text of functions, too: what these functions call for it is not in the text. */
class MutatedWorker extends Worker {
  constructor(program: string, options: WorkerOptions) {
    const mutation = (Reflect.get(globalThis, "__stryker__") ?? {}) as Mutation;
    const met = [...program.matchAll(mark)].flatMap(([, ids = ""]) => ids.match(/\d+/g) ?? []);
    note(mutation, met);
    const active = JSON.stringify(mutation.activeMutant ?? "");
    const functions = `const stryCov_9fa48 = () => {}; const stryMutAct_9fa48 = (id) => id === ${active};`;
    super(met.length === 0 ? program : `"use strict"; ${functions} ${program}`, options);
  }
}

/** Which of them the thread meets is not known here, so that each counts as met. */
function note(mutation: Mutation, met: readonly string[]): void {
  if (mutation.currentTestId === undefined || mutation.activeMutant !== undefined) return;
  mutation.mutantCoverage ??= { static: {}, perTest: {} };
  const { perTest } = mutation.mutantCoverage;
  perTest[mutation.currentTestId] ??= {};
  for (const id of met) Object.assign(perTest[mutation.currentTestId] ?? {}, { [id]: 1 });
}

Object.assign(process.getBuiltinModule("node:worker_threads"), { Worker: MutatedWorker });
