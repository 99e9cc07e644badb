import { randomUUID } from "node:crypto";
import { counted } from "../../core/describe.js";
import { operations } from "../../resources/catalogue.js";
import type { Answer } from "./answer.js";
import { NoAnswer } from "./no-answer.js";
import type { Probe } from "./probe.js";
import type { Question } from "./question.js";
import { createdAtMs, isCached, type Row, rowsOf, takenRows, tokensOf } from "./responses.js";
import { compareTexts, compareTokens, directionOf, nonEmptyText, zonedMsOf } from "./tokens.js";

/** A page that is larger than this is not asked for. */
const largestAsked = 1000;

const defaultSize: Question = {
  id: "size.default",
  asks: "How many records has a page without _size?",
  measuredBy: "a list without _size, then one with a larger _size, or the records after its last one",
  requests: 4,
  async ask(probe) {
    const { prober } = probe;
    const first = await prober.send({ path: "/payments" });
    const page = takenRows(first) ?? [];
    const larger = await probe.list({ _size: String(page.length + 1) });
    const isFull = larger.length > page.length || (await probe.hasMore(page)) === true;
    // Until what a cache has kept has an age.
    await prober.pause(1100);
    const again = await prober.send({ path: "/payments" });
    if (isCached(first) || isCached(again)) throw new NoAnswer("a cache on the way gives an earlier page");
    if (!isFull || page.length === 0) throw new NoAnswer(`there are only ${counted(page.length, "payment")}`);
    assertNoneLonger(page, takenRows(again) ?? []);
    return { value: page.length, says: `${page.length} records`, trials: 1 };
  },
};

const largestSize: Question = {
  id: "size.largest",
  asks: "What is the largest _size, and what does a larger one come to?",
  measuredBy: `a list with _size=${largestAsked}; where that is refused, sizes between it and one that is taken`,
  requests: 14,
  async ask(probe) {
    if ((await probe.list({ _size: "1" })).length > 1) {
      return { value: { largest: null, above: "ignored" }, says: "_size is ignored", trials: 1 };
    }
    const page = await probe.taken({ _size: String(largestAsked) });
    if (page === undefined) return largestTaken(probe);
    const largest = page.length;
    if (largest >= largestAsked) return sizeAnswer(largestAsked, "not known", 2, `at least ${largestAsked} records`);
    if ((await probe.hasMore(page)) !== true) {
      throw new NoAnswer(`there are only ${counted(largest, "payment")}: the largest _size is at least that`);
    }
    assertNoneLonger(page, await probe.list({ _size: String(largestAsked) }));
    return sizeAnswer(largest, "clipped", 2, `${largest} records; a larger _size gives as many`);
  },
};

/** What others have made since a page was read stands after it, too, though it was not full. @throws {NoAnswer} */
function assertNoneLonger(page: readonly Row[], again: readonly Row[]): void {
  if (again.length !== page.length) throw new NoAnswer("others make payments meanwhile, and the page is not full");
}

async function largestTaken(probe: Probe): Promise<Answer> {
  let [taken, refused, trials] = [1, largestAsked, 2];
  let page: readonly Row[] = [];
  while (refused - taken > 1) {
    const size = Math.floor((taken + refused) / 2);
    const rows = await probe.taken({ _size: String(size) });
    if (rows === undefined) refused = size;
    else [taken, page] = [size, rows];
    trials += 1;
  }
  if (page.length < taken && (await probe.hasMore(page)) === true) {
    throw new NoAnswer(`_size=${taken} is taken, and gives ${counted(page.length, "record")} of more`);
  }
  return sizeAnswer(taken, "refused", trials, `${taken} records; a larger _size is refused`);
}

function sizeAnswer(largest: number, above: string, trials: number, says: string): Answer {
  return { value: { largest, above }, says, trials, settings: { list: { size: largest } } };
}

const listOrder: Question = {
  id: "list.order",
  asks: "In which order are payments listed, and do their paging tokens follow it?",
  measuredBy: "createdAt and pagingToken of the records of one page, beside each other",
  requests: 8,
  async ask(probe) {
    const rows = await pageOf(probe, 3);
    const times = valuesOf(rows, "createdAt");
    const [isUp, isDown] = [isMonotone(times, compareTimes), isMonotone([...times].reverse(), compareTimes)];
    if (isUp && isDown) throw new NoAnswer(`all ${rows.length} records have one createdAt`);
    const byTime = isUp ? "up" : isDown ? "down" : "neither";
    const tokens = tokensOf(rows);
    const byToken = tokens.length < rows.length ? "none" : (directionOf(tokens) ?? "neither");
    const words = { up: "oldest first", down: "newest first", neither: "in no order of createdAt" };
    const follow = byToken === byTime ? "follow it" : byToken === "none" ? "are missing" : `go ${byToken}`;
    return {
      value: { createdAt: byTime, tokens: byToken },
      says: `${words[byTime]}; tokens ${follow}, in ${rows.length} records`,
      trials: rows.length - 1,
      ...(byToken !== "none" && { settings: { list: { trustCursor: byToken === "neither" } } }),
    };
  },
};

const tokenKind: Question = {
  id: "tokens.kind",
  asks: "Are paging tokens numbers or texts, and ordered as which?",
  measuredBy: "the tokens of one page, compared both ways",
  requests: 8,
  async ask(probe) {
    const rows = await pageOf(probe, 2);
    const tokens = tokensOf(rows);
    if (tokens.length === 0) return { value: "none", says: "payments have no paging tokens", trials: rows.length };
    const isNumeric = tokens.every((token) => /^\d+$/.test(token));
    const isInOrder = (compare: typeof compareTexts) =>
      isMonotone(tokens, compare) || isMonotone([...tokens].reverse(), compare);
    const [asNumbers, asTexts] = [isInOrder(compareTokens), isInOrder(compareTexts)];
    const kind = !isNumeric ? "texts" : asNumbers || !asTexts ? "numbers" : "numbers in the order of texts";
    const undecided =
      isNumeric && asNumbers && asTexts
        ? "; both orders fit these"
        : asNumbers || asTexts
          ? ""
          : "; these are in no order";
    return { value: kind, says: `${kind}${undecided}`, trials: tokens.length };
  },
};

const tokenLists: Question = {
  id: "tokens.lists",
  asks: "Which lists have paging tokens?",
  measuredBy: "one record of each list",
  requests: 16,
  async ask(probe) {
    const lists = [...operations.values()].filter(({ verb }) => verb === "list");
    const [[gateway], [provider]] = [
      await probe.list({ _size: "1" }, "/payment-gateways"),
      await probe.list({ _size: "1" }, "/liquidity-providers"),
    ];
    const value: Record<string, boolean | null> = {};
    for (const { name, path } of lists) {
      const parent = name.startsWith("paymentGateways.") ? gateway : provider;
      const id = typeof parent?.id === "string" ? encodeURIComponent(parent.id) : undefined;
      const isNested = path.text.includes("{");
      if (isNested && id === undefined) value[name] = null;
      else {
        const seen = await probe.prober.send({ path: path.text.replace(/\{\w+\}/, id ?? ""), query: { _size: "1" } });
        const rows = rowsOf(seen) ?? [];
        value[name] = rows.length === 0 ? null : tokensOf(rows).length > 0;
      }
    }
    const named = (wanted: boolean | null) => Object.keys(value).filter((name) => value[name] === wanted);
    const parts = [
      ["with tokens", named(true)],
      ["without", named(false)],
      ["empty or not readable", named(null)],
    ] as const;
    const others = named(true).filter((name) => name !== "payments.list");
    return {
      value,
      says: parts.flatMap(([title, names]) => (names.length === 0 ? [] : `${title}: ${names.join(", ")}`)).join("; "),
      trials: 1,
      ...(others.length > 0 && { settings: { list: { cursor: "(record) => record.pagingToken" } } }),
    };
  },
};

const bounds: Question = {
  id: "bounds",
  asks: "Do _after and _before include the record whose token they are?",
  measuredBy: "a page between the tokens of a record's neighbours, at several places",
  requests: 13,
  async ask(probe) {
    // Two on either side tell a bound that includes one of them from one that is ignored.
    const rows = await pageOf(probe, 5);
    const direction = directionOf(tokensOf(rows));
    if (direction === undefined) throw new NoAnswer("the tokens of a page are in no order");
    const rising = direction === "up" ? rows : [...rows].reverse();
    const middles = [...new Set([2, Math.floor(rising.length / 2), rising.length - 3])];
    const seen = [];
    for (const middle of middles) seen.push(await boundsAt(probe, rising, middle));
    const [after, before] = [agreed(seen.map((one) => one.after)), agreed(seen.map((one) => one.before))];
    return {
      value: { after, before },
      says: `_after ${boundWords(after)}, _before ${boundWords(before)}`,
      trials: middles.length,
    };
  },
};

async function boundsAt(probe: Probe, rising: readonly Row[], middle: number) {
  const at = (index: number) => rising[index] ?? {};
  const query = { _after: String(at(middle - 1).pagingToken), _before: String(at(middle + 1).pagingToken) };
  const found = new Set((await probe.list({ ...query, ...(await probe.size()) })).map(({ id }) => id));
  const has = (from: number, to: number) => rising.slice(from, to).some(({ id }) => found.has(id));
  const isOnPage = has(middle, middle + 1);
  const word = (isIgnored: boolean, isInclusive: boolean) =>
    isIgnored ? "ignored" : isInclusive ? "inclusive" : isOnPage ? "exclusive" : "unclear";
  return {
    after: word(has(0, middle - 1), has(middle - 1, middle)),
    before: word(has(middle + 2, rising.length), has(middle + 1, middle + 2)),
  };
}

function boundWords(word: string): string {
  return word === "ignored"
    ? "is ignored"
    : word === "inclusive"
      ? "includes it"
      : word === "exclusive"
        ? "leaves it out"
        : word;
}

const sort: Question = {
  id: "sort",
  asks: "Is _sort kept to, each way, and with several terms?",
  measuredBy: "a page in each order, held against the order that was asked for and the page without one",
  requests: 16,
  async ask(probe) {
    const plain = await pageOf(probe, 1);
    const value: Record<string, string> = {};
    for (const field of ["createdAt", "id", "pagingToken"]) {
      const [rising, falling] = [await sorted(probe, `${field}.asc`), await sorted(probe, `${field}.desc`)];
      value[field] = judgeSort(field, rising, falling, plain);
    }
    value.several = await judgeSeveral(probe, plain);
    const says = Object.entries(value).map(([name, word]) => `${name}: ${word}`);
    return { value, says: says.join(", "), trials: 2 };
  },
};

async function sorted(probe: Probe, order: string): Promise<readonly Row[] | undefined> {
  return probe.taken({ ...(await probe.size()), _sort: order });
}

type SortedRows = readonly Row[] | undefined;

function judgeSort(field: string, rising: SortedRows, falling: SortedRows, plain: readonly Row[]): string {
  if (rising === undefined || falling === undefined) return "refused";
  const [up, down] = [valuesOf(rising, field), valuesOf(falling, field)];
  if (new Set([...up, ...down]).size < 2)
    return sameOrder(rising, falling) && plain.length > 1 ? "ignored" : "not known";
  const [first = "", last = ""] = [up[0], down[0]];
  const isKept = (field === "createdAt" ? [compareTimes] : bothOrders).some(
    (compare) => isMonotone(up, compare) && isMonotone([...down].reverse(), compare) && compare(first, last) < 0,
  );
  if (isKept) return "kept to";
  return sameOrder(rising, falling) ? "ignored" : "in another order";
}

/** Records that are equal in the first term, by a second one each way: they can't be in both orders by chance. */
async function judgeSeveral(probe: Probe, plain: readonly Row[]): Promise<string> {
  if (plain.length < 3) return "not known";
  const [rising, falling] = [
    await sorted(probe, "senderGatewayStatus.asc,id.asc"),
    await sorted(probe, "senderGatewayStatus.asc,id.desc"),
  ];
  if (rising === undefined || falling === undefined) return "refused";
  const groups = (rows: readonly Row[]) =>
    [...new Set(valuesOf(rows, "senderGatewayStatus"))].map((status) =>
      valuesOf(
        rows.filter((row) => String(row.senderGatewayStatus) === status),
        "id",
      ),
    );
  const [ups, downs] = [groups(rising), groups(falling)];
  if (!ups.some((ids) => ids.length > 1)) return "not known";
  const isKept = bothOrders.some(
    (compare) =>
      ups.every((ids) => isMonotone(ids, compare)) && downs.every((ids) => isMonotone([...ids].reverse(), compare)),
  );
  return isKept ? "kept to" : sameOrder(rising, falling) ? "ignored" : "in another order";
}

const unknownFilters: Question = {
  id: "filters.unknown",
  asks: "What does a filter come to that the list does not have?",
  measuredBy: "a list with a parameter that no service has",
  requests: 8,
  async ask(probe) {
    await pageOf(probe, 1);
    const seen = await probe.prober.send({ path: "/payments", query: { _size: "1", noSuchFieldOfAProbe: "1" } });
    const rows = takenRows(seen);
    const value = rows === undefined ? "refused" : rows.length > 0 ? "ignored" : "nothing is listed";
    return { value, says: rows === undefined ? `refused, with ${seen.status}` : value, trials: 1 };
  },
};

const knownFilters: Question = {
  id: "filters.payments",
  asks: "Which filters does GET /payments have?",
  measuredBy: "a list by a field's value, and one by a value that no record has",
  requests: 16,
  async ask(probe) {
    const [row = {}] = await pageOf(probe, 1);
    const value: Record<string, string> = {};
    for (const field of ["id", "senderGatewayTransactionId", "senderGatewayId", "receiverGatewayStatus"]) {
      const known = nonEmptyText(row[field]);
      if (known === undefined) {
        value[field] = "not known";
        continue;
      }
      const [right, wrong] = [await filtered(probe, field, known), await filtered(probe, field, randomUUID())];
      if (right === undefined) value[field] = "refused";
      else if (wrong !== undefined && wrong.length > 0) value[field] = "ignored";
      else value[field] = right.length > 0 && right.every((one) => one[field] === row[field]) ? "filters" : "not known";
    }
    const says = Object.entries(value).map(([name, word]) => `${name}: ${word}`);
    return { value, says: says.join(", "), trials: 2 };
  },
};

async function filtered(probe: Probe, field: string, value: string): Promise<readonly Row[] | undefined> {
  return probe.taken({ _size: "5", [field]: value });
}

const creationTimes: Question = {
  id: "clocks.createdAt",
  asks: "Does createdAt go on with the paging tokens, or step back, as where machines' clocks differ?",
  measuredBy: "createdAt of the records of a page, in the order of their tokens",
  requests: 8,
  isChanged: (before, now) => Math.abs(Number(before) - Number(now)) > 2000,
  async ask(probe) {
    const rows = await pageOf(probe, 3);
    const byToken = [...rows].sort((one, other) => compareTokens(String(one.pagingToken), String(other.pagingToken)));
    if (tokensOf(rows).length < rows.length) throw new NoAnswer("the records have no paging tokens");
    if (directionOf(tokensOf(rows)) === undefined) throw new NoAnswer("the tokens of a page are in no order");
    const times = byToken.flatMap((row) => createdAtMs(row) ?? []);
    if (times.length < rows.length) throw new NoAnswer("not every record has a createdAt that says its zone");
    let [latest, back] = [Number.NEGATIVE_INFINITY, 0];
    for (const ms of times) {
      back = Math.max(back, latest - ms);
      latest = Math.max(latest, ms);
    }
    const says = back === 0 ? `it never steps back, in ${times.length} records` : `it steps back by up to ${back} ms`;
    return {
      ...{ value: back, says, trials: times.length - 1 },
      ...(back > 0 && { settings: { flow: { clockSkewMs: roundedUp(2 * back) } } }),
    };
  },
};

/** Whole seconds, since what was measured is less than what can be. */
export function roundedUp(ms: number): number {
  return 1000 * Math.ceil(ms / 1000);
}

/** @throws {NoAnswer} where there are fewer payments than it takes. */
async function pageOf(probe: Probe, least: number): Promise<readonly Row[]> {
  const rows = await probe.firstPage();
  if (rows.length >= least) return rows;
  throw new NoAnswer(
    `it takes ${counted(least, "payment")}, and there ${rows.length === 1 ? "is" : "are"} ${rows.length}`,
  );
}

function isMonotone(values: readonly string[], compare: (one: string, other: string) => number): boolean {
  return values.every((value, index) => index === 0 || compare(values[index - 1] ?? "", value) <= 0);
}

function valuesOf(rows: readonly Row[], field: string): readonly string[] {
  return rows.map((row) => String(row[field]));
}

/** Tokens and ids may be numbers, and be ordered as the texts that they are. */
const bothOrders = [compareTokens, compareTexts];

/** Texts of one time can differ in their digits and zones. */
function compareTimes(one: string, other: string): number {
  const ms = zonedMsOf(one) - zonedMsOf(other);
  return Number.isNaN(ms) ? compareTexts(one, other) : ms;
}

/** Of the records that both have: others may have made some in between. */
function sameOrder(one: readonly Row[], other: readonly Row[]): boolean {
  const [ones, others] = [valuesOf(one, "id"), valuesOf(other, "id")];
  const [left, right] = [ones.filter((id) => others.includes(id)), others.filter((id) => ones.includes(id))];
  return left.length > 1 && left.join("\n") === right.join("\n");
}

function agreed(words: readonly string[]): string {
  // A record can be gone by the time at which its neighbours are asked for.
  const [first = "unclear", ...others] = words.filter((word) => word !== "unclear");
  return others.every((word) => word === first) ? first : "not always the same";
}

export const listQuestions: readonly Question[] = [
  ...[defaultSize, largestSize, listOrder, tokenKind, tokenLists, bounds, sort],
  ...[unknownFilters, knownFilters, creationTimes],
];

export { knownFilters, sort };
