import type { FieldTable } from "../api/fields.js";
import { looksLikeName } from "../core/describe.js";

/** What paging and order are asked for by. */
export const pagingParameters: ReadonlySet<string> = new Set(["_size", "_before", "_after", "_sort"]);

/**
 * The query of a request, for logs. Values of paging and of fields that are no credential are as they came; every other one is hidden, such as that of
 * an `access_token`, which belongs into no query.
 *
 * @param hidden what stands for a value.
 */
export function shownQuery(query: string, record: FieldTable, hidden: string): string {
  if (query === "") return "";
  return query
    .split("&")
    .map((pair) => {
      const [, written = "", rest = ""] = /^([^=]*)(=?.*)$/s.exec(pair) ?? [];
      const name = decoded(written);
      if (pagingParameters.has(name) || isShownField(name, record)) return pair;
      return looksLikeName(name) && rest !== "" ? `${written}=${hidden}` : hidden;
    })
    .join("&");
}

/** Whether a field may be shown: what is misspelt or new may be a credential as well. */
export function isShownField(name: string, fields: FieldTable): boolean {
  return Object.hasOwn(fields, name) && fields[name] !== "secret";
}

/** A name that nobody knows, for a message: a token in its place is not repeated. */
export function shownName(name: string): string {
  return looksLikeName(name) ? name : "a name that is not shown";
}

function decoded(name: string): string {
  return [...new URLSearchParams(`${name}=`).keys()][0] ?? "";
}
