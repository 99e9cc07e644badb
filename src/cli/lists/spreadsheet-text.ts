/**
 * The value of a CSV cell, which no spreadsheet takes for a formula: an apostrophe stands before what would begin one. Memos and names come
 * from other institutions' customers, and a formula of theirs can read and send what the file holds.
 *
 * That is done after tabs, semicolons and line breaks too: a spreadsheet whose separator is one of these begins a cell there, whatever
 * stands in quotes. A negative number stays a number, except at the beginning of a line, whose first cell is all of the line there.
 */
export function spreadsheetText(value: string, isFirstOfLine: boolean): string {
  return !isFirstOfLine && plainNumber.test(value) ? value : value.replace(formulaStart, "'");
}

const plainNumber = /^-\d+(?:\.\d+)?$/;

/** Spreadsheets overlook blanks and quotes there, and take the wide forms of East Asian keyboards for the characters themselves. */
const formulaStart = /(?<=^|[;\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])/g;
