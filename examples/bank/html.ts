/** A piece of a page. Only `html` makes one, so that no text of anybody's gets into a page as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | Html | readonly Html[] | false | undefined;

/** Texts are escaped, and nothing stands for `undefined` and `false`. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const [first = "", ...rest] = parts;
  return new Html(first + rest.map((part, index) => written(values[index]) + part).join(""));
}

function written(value: Value): string {
  if (value === undefined || value === false) return "";
  if (typeof value === "string") return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return [value]
    .flat()
    .map(({ text }) => text)
    .join("");
}
