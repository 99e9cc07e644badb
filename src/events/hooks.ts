import { describeValue, looksLikeName } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";

/**
 * The hooks of an option `on` as they are now.
 *
 * @throws {ConfigError} when one is not a function, or has a name that no hook has.
 */
export function readHooks<Hooks extends object>(on: Hooks, names: readonly (keyof Hooks & string)[]): Hooks {
  for (const name of Object.keys(on)) {
    if (!names.some((hook) => hook === name)) {
      throw new ConfigError(
        `there is no hook on.${looksLikeName(name) ? name : "(unprintable)"}; there are ${names.join(", ")}`,
      );
    }
  }
  const read: Record<string, unknown> = {};
  for (const name of names) {
    const hook: unknown = on[name];
    if (hook === undefined) continue;
    if (typeof hook !== "function")
      throw new ConfigError(`on.${name} must be a function; found ${describeValue(hook)}`);
    read[name] = (event: unknown): unknown => Reflect.apply(hook, on, [event]);
  }
  return read as Hooks;
}

/** Calls one hook, if there is one. Its failure is its own. */
export function callHook<Event>(hook: ((event: Event) => unknown) | undefined, event: Event): void {
  try {
    const result = hook?.(event);
    // So is the rejection of an async hook.
    if (typeof result === "object" && result !== null) Promise.resolve(result).catch(() => {});
  } catch {}
}
