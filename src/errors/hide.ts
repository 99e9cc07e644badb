/** Sets a property that takes no part in printing, in `JSON.stringify` or in a spread. */
export function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, configurable: true, writable: true });
}
