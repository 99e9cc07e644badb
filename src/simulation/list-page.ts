/** A payment as the service lists it. */
export interface ListedRecord {
  readonly id: string;
  readonly createdAt: string;
  /** `undefined` where the service gives none. */
  readonly token: string | undefined;
  /** Its JSON. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly listedAtMs: number;
}

/** One page as SQL would read the description: bounds on the token, sort, limit. */
export function pageOf(records: readonly ListedRecord[], path: string, mostListed: number): readonly ListedRecord[] {
  const query = new URLSearchParams(path.slice(path.indexOf("?") + 1));
  const after = query.get("_after");
  const before = query.get("_before");
  const isWanted = ({ token }: ListedRecord) =>
    token === undefined ||
    ((after === null || compareTokens(token, after) > 0) && (before === null || compareTokens(token, before) < 0));
  const [field = "pagingToken", direction] = (query.get("_sort") ?? "").split(".");
  const sign = direction === "desc" ? -1 : 1;
  const compare = (one: ListedRecord, other: ListedRecord) =>
    field === "createdAt"
      ? compareTexts(one.createdAt, other.createdAt)
      : compareTokens(one.token ?? one.id, other.token ?? other.id);
  return records
    .filter(isWanted)
    .sort((one, other) => sign * compare(one, other))
    .slice(0, Math.min(Number(query.get("_size") ?? mostListed), mostListed));
}

/** As numbers where they are numbers. */
function compareTokens(one: string, other: string): number {
  const areNumbers = /^\d+$/.test(one) && /^\d+$/.test(other);
  return areNumbers ? Number(one) - Number(other) : compareTexts(one, other);
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
