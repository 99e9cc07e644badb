import { payments } from "../../src/resources/payments.js";
import { recordOf } from "./scripted-transport.js";

const bytes = 10 * 2 ** 20;
const record = recordOf(payments.list.record);

/** A list of as many as fit. */
function listOf(item: string): string {
  return `[${`${item},`.repeat(Math.floor((bytes - item.length - 2) / (item.length + 1)))}${item}]`;
}

/** An object of as many fields as fit. */
function objectOf(field: (index: number) => string, before = ""): string {
  const fields: string[] = [];
  for (let length = before.length; length < bytes; length += (fields.at(-1)?.length ?? 0) + 1) {
    fields.push(field(fields.length));
  }
  return `{${before}${fields.join(",")}}`;
}

const whole = JSON.stringify(record).slice(1, -1);

/** Responses of 10 MiB. */
const shapes = {
  records: () => listOf(JSON.stringify(record)),
  "records that differ in one field": () => listOf(JSON.stringify({ ...record, memo: 1 })),
  "empty records": () => listOf("{}"),
  numbers: () => listOf("0"),
  "one record of many fields": () => `[${objectOf((index) => `"k${index.toString(36)}":1`)}]`,
  "one whole record of many more fields": () => `[${objectOf((index) => `"k${index.toString(36)}":1`, `${whole},`)}]`,
  "one deep field": () => `[{"extras":${"[".repeat(bytes / 2 - 10)}${"]".repeat(bytes / 2 - 10)}}]`,
  "a refusal with a long message": () => `{"error":"e","message":"${"eyJ-".repeat(bytes / 4)}"}`,
  "a refusal with many fields": () => objectOf((index) => `"${index.toString(36)}k":"e"`, '"error":"e",'),
} satisfies Readonly<Record<string, () => string>>;

export type ResponseShape = keyof typeof shapes;
export const responseShapes = Object.keys(shapes) as readonly ResponseShape[];

export function responseText(shape: ResponseShape): string {
  return shapes[shape]();
}
