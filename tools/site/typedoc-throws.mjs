import { Converter } from "typedoc";

/**
 * TypeDoc keeps the `{InvalidArgumentError}` of a `@throws` beside its text, and its Markdown leaves it out: here it becomes the first word of
 * the text, as a link where the class is exported.
 *
 * @param {import("typedoc").Application} app
 */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const { comment } of Object.values(project.reflections)) {
      for (const tag of comment?.blockTags ?? []) {
        if (tag.name !== "@throws" && tag.tag !== "@throws") continue;
        const names = (tag.typeAnnotation ?? "").replaceAll(/[{}]/g, "").split("|");
        tag.content = [...names.flatMap((name) => named(project, name.trim())), ...tag.content];
      }
    }
  });
}

function named(project, name) {
  if (name === "") return [];
  const target = Object.values(project.reflections).find((found) => found.name === name && found.kindOf(128));
  const word =
    target === undefined
      ? { kind: "code", text: `\`${name}\`` }
      : { kind: "inline-tag", tag: "@link", text: name, target };
  return [word, { kind: "text", text: " " }];
}
