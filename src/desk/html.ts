/** A piece of a page. Only `html` makes one, so that no text of anybody's gets into a page as it is. */
export class Html {
  readonly text: string;

  /** @param text is part of the page as it is. */
  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | undefined | false | readonly Value[];

/** Values are texts, whatever stands in them; pieces of pages stay what they are, and nothing stands for `undefined` and `false`. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const [first = "", ...rest] = parts;
  return new Html(first + rest.map((part, index) => written(values[index]) + part).join(""));
}

function written(value: Value): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(written).join("");
  return String(value).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
