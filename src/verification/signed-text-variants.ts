import { createHash } from "node:crypto";

/** A text that may have been signed, with what is wrong with each of its parts. */
export interface Candidate {
  readonly mistakes: readonly (readonly [aspect: "path" | "body" | "text", mistake: string])[];
  readonly text: () => Uint8Array;
}

export interface RequestFacts {
  /** As it was on the wire. */
  readonly path: string;
  readonly body: Uint8Array;
  /** The service's base path, if it is known. */
  readonly basePath?: string | undefined;
  /** Scheme, host, and port of the service, if they are known. */
  readonly origin?: string | undefined;
}

/** What may have been signed in place of a part, and what is wrong with it. The first is right. */
type Variant<Value> = readonly [mistake: string | undefined, value: Value];

/** What people sign, the texts with the fewest mistakes first. */
export function candidatesOf(request: RequestFacts): readonly Candidate[] {
  const bodies = bodyVariants(request.body);
  const candidates: Candidate[] = [];
  for (const [wrongPath, path] of pathVariants(request))
    for (const [wrongBody, body] of bodies)
      for (const [wrongJoin, join] of joinVariants)
        for (const [wrongWhole, whole] of wholeVariants) {
          const aspects = [
            ["path", wrongPath],
            ["body", wrongBody],
            ["text", wrongJoin],
            ["text", wrongWhole],
          ] as const;
          const mistakes = aspects.flatMap(([aspect, mistake]) =>
            mistake === undefined ? [] : [[aspect, mistake] as const],
          );
          candidates.push({ mistakes, text: () => whole(Buffer.concat([Buffer.from(path), Buffer.from(join), body])) });
        }
  return candidates.sort((one, other) => one.mistakes.length - other.mistakes.length);
}

function pathVariants({ path, basePath, origin }: RequestFacts): readonly Variant<string>[] {
  const plain = path.replace(/\?.*/s, "");
  const query = path.slice(plain.length);
  const beginnings = Array.from(plain.matchAll(/\//g), ({ index }) => plain.slice(0, index));
  const hasBase = basePath === undefined || path.startsWith(basePath);
  const bases = basePath === undefined ? beginnings : hasBase ? [basePath] : [];
  return unique(path, [
    ["no query, though the request has one", plain],
    ...bases.flatMap((base): Variant<string>[] => [
      [`no base path (${base})`, path.slice(base.length) || "/"],
      [`neither base path (${base}) nor query`, plain.slice(base.length) || "/"],
    ]),
    // A proxy took it off, or put another one in its place.
    ...(hasBase ? [] : beginnings).map((base): Variant<string> => {
      const where = base === "" ? "in front of the path" : `in place of ${base}`;
      return [`the base path (${basePath}) ${where}`, basePath + path.slice(base.length)];
    }),
    [`the whole address (${origin}) in place of the path`, (origin ?? "") + path],
    ["a slash at the end of the path", `${plain}/${query}`],
    ["no slash at the end of the path", plain.replace(/\/$/, "") + query],
    ["the path decoded, though the request has it percent-encoded", decoded(path)],
    ["the path percent-encoded, though the request has it plain", encodeURI(path)],
  ]);
}

function bodyVariants(body: Uint8Array): readonly Variant<Uint8Array>[] {
  const text = Buffer.from(body).toString("utf8");
  const [, ...others] = unique(text, [
    ["a newline at the end of the body, which was not sent", `${text}\n`],
    ["no newline at the end of the body, though one was sent", text.replace(/[\r\n]+$/, "")],
    ...rewritten(text),
    ["no body", ""],
  ]);
  // What was sent need not be UTF-8.
  return [[undefined, body], ...others.map(([mistake, written]) => [mistake, Buffer.from(written)] as const)];
}

/** What stands between path and body. */
const joinVariants: readonly Variant<string>[] = [
  [undefined, ""],
  ["a newline between path and body", "\n"],
];

/** What people hand to the signing function in place of the text. */
const wholeVariants: readonly Variant<(text: Uint8Array) => Uint8Array>[] = [
  [undefined, (text) => text],
  ["the SHA-256 of the text, which signing hashed once more", sha256],
  [
    "the SHA-256 of the text in hex, which signing hashed once more",
    (text) => Buffer.from(sha256(text).toString("hex")),
  ],
];

/** Each text once, after the one that should have been signed. */
function unique(right: string, mistaken: readonly Variant<string>[]): readonly Variant<string>[] {
  const texts = new Map<string, string | undefined>([[right, undefined]]);
  for (const [mistake, text] of mistaken) if (!texts.has(text)) texts.set(text, mistake);
  return Array.from(texts, ([text, mistake]) => [mistake, text]);
}

/** What JSON libraries make of the same content. Empty if the text isn't JSON, or is too deep to be written again. */
function rewritten(text: string): Variant<string>[] {
  try {
    const content: unknown = JSON.parse(text);
    const orders = [["", content] as const, [", its fields sorted", sorted(content)] as const];
    return orders.flatMap(([order, value]) =>
      stylesOf(value).flatMap(([style, written]) =>
        escapesOf(written).map(([escapes, again]): Variant<string> => {
          const how = `${style}${order}${escapes}`;
          return [`the body written anew (${how}), and not the bytes that were sent`, again];
        }),
      ),
    );
  } catch {
    return [];
  }
}

function stylesOf(value: unknown): [style: string, text: string][] {
  const indented = JSON.stringify(value, null, "  ");
  // As Python writes it. Line breaks inside of texts are escaped.
  const spaced = indented.replace(/(?<=[[{])\n\s*|\n\s*(?=[\]}])/g, "").replace(/\n\s*/g, " ");
  return [
    ["without white space", JSON.stringify(value)],
    ["with a space after each colon and comma", spaced],
    ["indented by 2", indented],
  ];
}

function escapesOf(text: string): [escapes: string, text: string][] {
  const inUnicode = (characters: RegExp) =>
    text.replace(characters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [
    ["", text],
    [", everything but ASCII escaped", inUnicode(/[\u0080-\uffff]/g)],
    [", slashes escaped", text.replaceAll("/", "\\/")],
    [", <, > and & escaped", inUnicode(/[<>&]/g)],
  ];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(Reflect.get(value, name))]));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function sha256(text: Uint8Array): Buffer {
  return createHash("sha256").update(text).digest();
}
