import type { Happening } from "../../src/simulation/marks.js";
import type { FailureClass } from "./expectations.js";
import type { Fault } from "./faults.js";
import type { SeenRequest } from "./wire-fault-server.js";

/** The requests of a flow: for its intent, for the mark before a payment, for the payment, and for the list in which it is looked for. */
export const points = ["intent", "mark", "payment", "look"] as const;
export type Point = (typeof points)[number];

type Request = Pick<SeenRequest, "method" | "target">;

export function pointOf({ method, target }: Request, hasClaimed: boolean): Point {
  if (method === "GET") return hasClaimed ? "look" : "mark";
  return target === "/payments" ? "payment" : "intent";
}

/** What the simulator calls it when a request meets a fault. */
export function happeningOf(fault: Fault, point: Point, request: Request): Happening | undefined {
  const [name] = [fault.is].flat();
  const sort = name === undefined ? undefined : sorts[name];
  if (sort === undefined) return undefined;
  if (point === "mark" || point === "look") return "no list comes";
  const told: Told = sort === "silence" || sort === "strange" ? `${sort}, ${isDone(fault, request)}` : sort;
  return happenings[point][told];
}

function isDone({ play = {}, whole }: Fault, request: Request): "done" | "not done" {
  const { commits = true } = play;
  // What `commits` reads of a request is its method and its target.
  const does = typeof commits === "function" ? commits(request as SeenRequest) : commits;
  return whole !== false && does ? "done" : "not done";
}

type Sort = "unreached" | "silence" | "strange" | "refused" | "refused for now";

/** Classes that are not there do no harm to the calls of a flow. */
const sorts: Readonly<Partial<Record<FailureClass, Sort>>> = {
  unsent: "unreached",
  "unsent for good": "unreached",
  "deadline unsent": "unreached",
  "maybe sent": "silence",
  "maybe sent, then well": "silence",
  "deadline sent": "silence",
  "deadline reading": "silence",
  "deadline reading the record": "silence",
  "record broken": "silence",
  "not the record": "strange",
  "not the record, but all of a token": "strange",
  "another payment": "strange",
  "a page": "strange",
  "body over the cap": "strange",
  "record over the cap": "strange",
  "refused by another": "strange",
  conflict: "strange",
  "conflict, long wait": "strange",
  failing: "strange",
  "failing, wait of 1 s": "strange",
  "failing, long wait": "strange",
  "throttled by another": "strange",
  redirect: "strange",
  refused: "refused",
  unauthorized: "refused for now",
  throttled: "refused for now",
  "throttled, wait of 1 s": "refused for now",
  "throttled, long wait": "refused for now",
};

type Told = Exclude<Sort, "silence" | "strange"> | `${"silence" | "strange"}, ${"done" | "not done"}`;

const happenings: Readonly<Record<"intent" | "payment", Readonly<Record<Told, Happening>>>> = {
  intent: {
    unreached: "the intent's request is lost",
    "silence, done": "the intent's response is lost",
    "silence, not done": "the intent's request is lost",
    "strange, done": "something else responds to the intent",
    "strange, not done": "something else responds to the intent",
    refused: "the intent is refused",
    "refused for now": "the intent is refused for now",
  },
  payment: {
    unreached: "the connection is refused",
    "silence, done": "the payment's response is lost",
    "silence, not done": "the payment is lost",
    "strange, done": "the payment arrives, and something else responds",
    "strange, not done": "something else responds to the payment",
    refused: "the payment is refused",
    "refused for now": "the payment is refused for now",
  },
};
