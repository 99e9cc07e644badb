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
  const rest = [...ids];
  const collection = collectionOf(client, row, rest);
  const method = Reflect.get(collection, row.verb) as (...given: unknown[]) => unknown;
  return method.call(collection, ...rest, ...given);
}

/** What has the method of an operation. Takes from `ids` those that are bound. */
function collectionOf(client: CrossBorderClient, { name }: Operation, ids: unknown[]): object {
  const steps = name.split(".").slice(0, -1);
  let collection: unknown = client;
  for (const [index, step] of steps.entries()) {
    const member: unknown = Reflect.get(collection as object, step);
    collection = index === 0 ? member : (member as (id: unknown) => unknown).call(collection, ids.shift());
  }
  return collection as object;
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
