/** What is used of a token of markdown-it. */
interface Token {
  readonly type: string;
  readonly content: string;
  attrSet(name: string, value: string): void;
}

type Rule = (tokens: Token[], index: number, ...rest: unknown[]) => string;

/** What is used of markdown-it, which VitePress hands to `markdown.config`. */
interface Markdown {
  readonly core: { readonly ruler: { push(name: string, rule: (state: { tokens: Token[] }) => void): void } };
  readonly renderer: { readonly rules: Record<string, Rule | undefined> };
}

/** Lets a table be read as a list where there is no room for its columns: each cell knows its heading, and stays a cell. */
export function labelCells(markdown: Markdown): void {
  markdown.core.ruler.push("label_cells", ({ tokens }) => {
    let headings: string[] = [];
    let column = 0;
    for (const [index, token] of tokens.entries()) {
      const role = roles[token.type];
      if (role !== undefined) token.attrSet("role", role);
      if (token.type === "table_open") headings = [];
      if (token.type === "tr_open") column = 0;
      if (token.type === "th_open") headings.push(plain(tokens[index + 1]?.content ?? ""));
      if (token.type === "td_open") token.attrSet("data-label", headings[column++] ?? "");
    }
  });
}

/** A table that CSS shows as blocks is none for screen readers any more, unless it says so. */
const roles: Readonly<Record<string, string>> = {
  table_open: "table",
  thead_open: "rowgroup",
  tbody_open: "rowgroup",
  tr_open: "row",
  th_open: "columnheader",
  td_open: "cell",
};

const plain = (markdown: string): string => markdown.replaceAll(/[`*]/g, "");

/** Lets long names break between their words. Others stay in one piece: see style.css. */
export function breakNames(markdown: Markdown): void {
  const { rules } = markdown.renderer;
  const written = rules.code_inline;
  if (written === undefined) throw new Error("markdown-it has no rule for inline code");
  rules.code_inline = (...of) =>
    written(...of).replaceAll(/(?<=>)[^<]+/g, (text) =>
      text.length <= 28 ? text : text.replaceAll(/[._/([-](?=\w)|[a-z](?=[A-Z])/g, "$&<wbr>"),
    );
}
