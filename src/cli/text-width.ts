const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const ofNoWidth = /[\p{Mn}\p{Me}\p{Cf}]/u;
const asciiOnly = /^[ -~]*$/;

/** How many columns of a terminal a text takes: Chinese, Japanese and Korean characters take two. */
export function widthOf(text: string): number {
  if (asciiOnly.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOfCharacter(character);
  return width;
}

/** As much of the text as fits, with `…` where that is not all of it. */
export function clipped(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let left = width - 1;
  for (const character of text) {
    left -= widthOfCharacter(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

export function padded(text: string, width: number): string {
  const fitting = clipped(text, width);
  return fitting + " ".repeat(Math.max(0, width - widthOf(fitting)));
}

function widthOfCharacter(character: string): number {
  if (ofNoWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}
