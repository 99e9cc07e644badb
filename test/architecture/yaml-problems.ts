/**
 * What is wrong with a YAML text, by line, for the small part of YAML that the files in `.github/` keep to: mappings and lists in
 * block style, two spaces a level, and values on one line.
 */
export function yamlProblems(text: string): string[] {
  const problems: string[] = [];
  let previous = { indent: 0, opens: false };
  for (const [index, line] of text.split("\n").entries()) {
    if (/^ *(#.*)?$/.test(line)) continue;
    const [, spaces = "", item = "", rest = ""] = /^( *)((?:- )?)(.*)$/.exec(line) ?? [];
    const [, key, value = ""] = /^([\w-]+|"[^"]+"):(?: +(.*))?$/.exec(rest) ?? [];
    const indent = spaces.length;
    const problem = lineProblem(indent, previous, key === undefined && item === "", key === undefined ? rest : value);
    if (problem !== undefined) problems.push(`line ${index + 1}: ${problem}`);
    previous = { indent: indent + item.length, opens: key !== undefined && value === "" };
  }
  return problems;
}

function lineProblem(
  indent: number,
  previous: { readonly indent: number; readonly opens: boolean },
  isBare: boolean,
  value: string,
): string | undefined {
  if (isBare) return "neither `key: value` nor `- item`";
  if (indent % 2 !== 0) return "not indented by a multiple of two spaces";
  if (indent > previous.indent + (previous.opens ? 2 : 0)) return "indented without a parent";
  if (/^["'[{]/.test(value) ? !isClosed(value) : /: |^[%@&*!|>`]/.test(value)) return "a value that needs quotes";
  return undefined;
}

/** Whether a quoted value or a flow list ends where the line does, but for a comment. */
function isClosed(value: string): boolean {
  return /^("[^"]*"|'[^']*'|\[[^[\]]*\]|\{[^{}]*\})( #.*)?$/.test(value);
}
