import { nonEmptyText, type Sort } from "./cursor-order.js";

export type IdOrder = "id.asc" | "id.desc";

/** Reads the first page of the same list, sorted by id. */
export type Reread<Item> = (sort: IdOrder, size: number | undefined) => Promise<readonly Item[]>;

/**
 * Why a list could not be proved to end: its two ends show different records, the service does not sort or gives more records than
 * it is asked for, the list was never the same for two requests, or not every record has an id of its own.
 */
export type Doubt = "more" | "ignored" | "size" | "changing" | "ids";

/** Of at most three requests each. A list that changes in every round is given up. */
const maxRounds = 3;

/**
 * Proves that one page holds a whole list, without paging tokens: the page is read from one end and from the other. A record that
 * neither has would have to lie above all of the one and below all of the other, so the same records from both ends are all.
 *
 * The second page is one record smaller, since a service that sorts only what it cuts out gives the same records from both ends. Cut
 * out smaller, they lack the one that comes last unsorted. A service that ignores the size can't be told from such a one.
 *
 * One record reads the same from both ends, so at least two are asked for. What is still misjudged is a service that never puts two
 * records on a page and ignores `_sort` as well.
 *
 * @param page the records that the caller has, in whatever order.
 * @returns records that the page lacks, because they came while the list was read; or why there is no proof.
 */
export async function restOfList<Item>(
  page: readonly Item[],
  query: { readonly size?: number | undefined; readonly sort?: Sort },
  reread: Reread<Item>,
): Promise<readonly Item[] | Doubt> {
  const had = idsOf(page);
  if (had === undefined) return "ids";
  const seen = new Set<string | undefined>(had);
  const size = page.length > 1 ? query.size : Math.max(query.size ?? 2, 2);
  const sort = String(query.sort);
  const [forwards, backwards] =
    sort === "id.desc" ? (["id.desc", "id.asc"] as const) : (["id.asc", "id.desc"] as const);
  let known = sort === forwards && page.length > 1 ? page : undefined;
  let earlier: { readonly ids: readonly string[]; readonly doubt: Doubt } | undefined;
  for (let round = 0; round < maxRounds; round++) {
    const records = known ?? (await reread(forwards, size));
    known = undefined;
    const ids = idsOf(records);
    if (ids === undefined) return "ids";
    if (earlier !== undefined && ids.length === earlier.ids.length && startsWith(ids, earlier.ids))
      return earlier.doubt;
    const backSize = ids.length > 1 ? ids.length - 1 : 2;
    const back = idsOf(await reread(backwards, backSize));
    if (back === undefined) return "ids";
    // Unsorted, the page shows which record comes last. Where the smaller page left out that one, a page of one record decides.
    const isLastLeftOut = query.sort !== undefined || ids.length !== had.length || ids[0] === had.at(-1);
    if (isOpposite(ids, back) && (ids.length === 1 || !isLastLeftOut || (await startsAt(ids, forwards, reread)))) {
      return records.filter((_, index) => !seen.has(ids[index]));
    }
    const doubt = back.length > 0 && startsWith(ids, back) ? "ignored" : back.length > backSize ? "size" : "more";
    earlier = { ids, doubt };
  }
  return "changing";
}

async function startsAt<Item>(ids: readonly string[], order: IdOrder, reread: Reread<Item>): Promise<boolean> {
  return idsOf(await reread(order, 1))?.[0] === ids[0];
}

/** The ids of a page; `undefined` where a record has none, or the id of another. */
function idsOf(records: readonly unknown[]): readonly string[] | undefined {
  const ids = records.map((record) => nonEmptyText((record as { readonly id?: unknown }).id));
  const distinct = new Set(ids);
  return distinct.size === ids.length && !distinct.has(undefined) ? (ids as string[]) : undefined;
}

function startsWith(ids: readonly string[], start: readonly string[]): boolean {
  return start.every((id, index) => id === ids[index]);
}

/** All but the last of the ids from the other end; a single one has to be there. */
function isOpposite(ids: readonly string[], back: readonly string[]): boolean {
  const isAsLong = back.length === Math.max(ids.length - 1, 1);
  return isAsLong && back.every((id, index) => id === ids[ids.length - 1 - index]);
}
