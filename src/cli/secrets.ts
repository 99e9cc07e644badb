import { operations } from "../resources/catalogue.js";

const secretNames: ReadonlySet<string> = new Set(
  [...operations.values()].flatMap(({ record, body }) =>
    [...Object.entries(record), ...Object.entries(body?.fields ?? {})]
      .filter(([, kind]) => kind === "secret")
      .map(([name]) => name),
  ),
);

/**
 * Whether a field of this name may be shown: a credential, in any record of the description, only where `--with-credentials` is given. By
 * its name alone: a service may put a gateway into another record. Everything that the command prints of records asks here.
 */
export function isShown(name: string, withCredentials: boolean): boolean {
  return withCredentials || !secretNames.has(name);
}
