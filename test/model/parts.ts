/** Objects by content: what has the same content is the same object, and has a number. */
export class Parts {
  readonly #byText = new Map<string, object>();
  readonly #ids = new Map<object, number>();
  /** What an object is the same as. */
  readonly #known = new WeakMap<object, object>();

  /** Of an object that was just made. The objects in it must be parts already. */
  one<T extends object>(value: T): T {
    return this.#add(value, this.#flat(value));
  }

  /** Of an object of any depth that stays, such as a state of the core. */
  known<T extends object>(value: T): T {
    if (this.#ids.has(value)) return value;
    const same = this.#known.get(value) ?? this.#add(value, deep(value));
    this.#known.set(value, same);
    return same as T;
  }

  /** 0 for nothing. */
  id(value: object | undefined): number {
    return value === undefined ? 0 : (this.#ids.get(value) ?? -1);
  }

  #add<T extends object>(value: T, text: string): T {
    const found = this.#byText.get(text);
    if (found !== undefined) return found as T;
    this.#byText.set(text, value);
    this.#ids.set(value, this.#ids.size + 1);
    return value;
  }

  #flat(value: object): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.#ids.get(item) ?? item).join()}]`;
    let text = "";
    for (const name in value) {
      const field: unknown = Reflect.get(value, name);
      if (field === undefined) continue;
      text += `${name}:${typeof field === "object" && field !== null ? `#${this.#ids.get(field)}` : String(field)},`;
    }
    return text;
  }
}

function deep(value: unknown): string {
  if (typeof value !== "object" || value === null) return typeof value === "string" ? `"${value}"` : String(value);
  if (Array.isArray(value)) return `[${value.map(deep).join()}]`;
  let text = "{";
  for (const name of Object.keys(value).sort()) {
    const field: unknown = Reflect.get(value, name);
    if (field !== undefined) text += `${name}:${deep(field)},`;
  }
  return `${text}}`;
}
