import type { CrossBorderClient } from "cross-border-payments";
import type { Operation } from "../../src/api/operation.js";
import { operations } from "../../src/resources/catalogue.js";
import { recordOf } from "../http/scripted-transport.js";

/** Every operation, with a name for tables of tests. */
export const everyOperation: readonly Operation[] = [...operations.values()];

/**
 * Calls the public method of an operation, with the ids `id-0`, `id-1`, …: `liquidityProviders.deposits.get` is
 * `client.liquidityProviders.deposits("id-0").get("id-1", …)`.
 */
export function callByName(client: CrossBorderClient, row: Operation, ...given: unknown[]): unknown {
  return callWithIds(
    client,
    row,
    row.path.parameters.map((_, index) => `id-${index}`),
    ...given,
  );
}

/** The same with ids of the caller's. */
export function callWithIds(client: CrossBorderClient, row: Operation, ids: unknown[], ...given: unknown[]): unknown {
  const [first = "", nested] = row.name.split(".").slice(0, -1);
  const resource = Reflect.get(client, first);
  const [collection, rest] =
    nested === undefined ? [resource, ids] : [Reflect.get(resource, nested).call(resource, ids[0]), ids.slice(1)];
  return Reflect.get(collection, row.verb).call(collection, ...rest, ...given);
}

/** A body with every field of the row, each as it is described. */
export function bodyOf({ body }: Operation): Record<string, unknown> {
  const fields = recordOf(body?.fields ?? {});
  for (const [name, [value]] of Object.entries(body?.oneOf ?? {})) fields[name] = value;
  if ("extras" in fields) fields.extras = { deep: [{ note: "before" }], none: null };
  return fields;
}

/** A filter with every field of the row, each as it is described. */
export function filterOf({ query, record }: Operation): Record<string, unknown> {
  const { extras: _, ...fields } = recordOf(query === "open" ? record : (query ?? {}));
  return fields;
}
