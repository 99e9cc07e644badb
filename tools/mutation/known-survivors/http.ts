import type { KnownSurvivor } from "../known-survivor.js";

const partialObject = "src/http/parse-partial-object.ts";
const schema = "src/http/schema.ts";
const readResponse = "src/http/read-response.ts";
const anotherSecret = "It would be one secret more, and stands in nobody's text.";
const alwaysResponse = "Data comes out of a response, so that there is one.";
const unwanted = "It only spares the making of an event: what nobody wants is told to nobody.";

export const http: readonly KnownSurvivor[] = [
  {
    file: "src/http/api-promise.ts",
    line: "withResponse: () => data.then((value) => ({ data: value, response: told.response ?? { status: 0, headers: {} } })),",
    replacement: "{}",
    why: alwaysResponse,
  },
  {
    file: "src/http/call.ts",
    line: 'this.#isSigned = "presigned" in source || source.signed;',
    replacement: '""',
    why: "A signed create and another differ after a 429 that is not the service's own, and no status lets a request that was signed earlier be sent again.",
  },
  {
    file: "src/http/call.ts",
    line: "if (this.#isSigned && signer !== undefined) {",
    replacement: "true",
    why: "For the compiler: a call that is to be signed without a signer is refused before.",
  },
  {
    file: "src/http/call.ts",
    line: 'return isLenient && validation === "strict" ? "report" : validation;',
    replacement: '""',
    why: "Of `report`: whatever is neither `off` nor `strict` reports.",
  },
  {
    file: "src/http/call.ts",
    line: 'const retryAfterMs = failure.kind === "status" ? (failure.retryAfterMs ?? 0) : 0;',
    replacement: "true",
    why: "For the compiler: no other failure has a `retryAfterMs`.",
  },
  {
    file: "src/http/call-report.ts",
    line: 'if (!reporter.wants("response")) return;',
    replacement: "false",
    why: unwanted,
  },
  {
    file: "src/http/call-report.ts",
    line: 'if (!reporter.wants("success")) return;',
    replacement: "false",
    why: unwanted,
  },
  {
    file: "src/http/call-report.ts",
    line: "const { status = 0, requestId } = this.response ?? {};",
    replacement: "this.response && {}",
    why: alwaysResponse,
  },
  {
    file: "src/http/call-report.ts",
    line: "const credentials = Object.entries(this.#headers).flatMap(([name, value]) => (credential.test(name) ? value : []));",
    replacement: '["Stryker was here"]',
    why: anotherSecret,
  },
  {
    file: "src/http/check-health.ts",
    line: "...(isHealthy || error === undefined ? undefined : { error }),",
    replacement: "false",
    why: "Without an error it is healthy; only the compiler doesn't know that.",
  },
  {
    file: "src/http/decision.ts",
    line: "return severity[one] >= severity[other] ? one : other;",
    replacement: "severity[one] > severity[other]",
    why: "Both are the same effect where they are as severe.",
  },
  {
    file: "src/http/http-client.ts",
    line: "const source = { ids: [], input, signed: this.#isSigned(list) };",
    replacement: '["Stryker was here"]',
    why: "The path has no parameter that an id could stand in.",
  },
  {
    file: "src/http/http-client.ts",
    line: 'return (await this.#context.signer?.describe("/", new Uint8Array()))?.publicKeySha256;',
    replacement: '""',
    why: "The hash of the public key is the same whatever is signed.",
  },
  {
    file: partialObject,
    line: "for (let at = start; at < end && (depth > 0 || at === start); at++) {",
    replacement: "at <= end",
    why: "Behind the text there is no character, which changes nothing.",
  },
  {
    file: partialObject,
    line: "} catch {",
    replacement: "{}",
    why: "It returns undefined without saying so, too.",
  },
  {
    file: partialObject,
    line: "for (let at = start + 1; at < end; at++) {",
    replacement: "at <= end",
    why: "Behind the text there is no character, so that no quote is found there.",
  },
  {
    file: readResponse,
    line: 'return { outcome: unreadable(response, difference, operation.verb === "create"), mismatches };',
    replacement: "true",
    why: "Everything else that is compared is a read, of which the table decides the same for `made` as for `unreadable`.",
  },
  {
    file: readResponse,
    line: "if (identifiedBy === undefined || sent[identifiedBy] === undefined) return undefined;",
    replacement: "false",
    why: "For the compiler: no request has a field of that name.",
  },
  {
    file: readResponse,
    line: 'if (broken !== undefined && text === "") return /html/i.test(headers["content-type"] ?? "");',
    replacement: '"Stryker was here!"',
    why: "Neither text says HTML.",
  },
  {
    file: schema,
    line: "if (differs) this.#addDifferent(found, schema, record, item);",
    replacement: "true",
    why: "Only speed: in a record that is valid as a whole, each field is.",
  },
  {
    file: schema,
    line: 'new $ZodNumberFormat({ type: "number", check: "number_format", format: "safeint", abort: false }),',
    replacement: "true",
    why: "Whether zod goes on to further checks of the number: there are none.",
  },
  {
    file: schema,
    line: 'return fieldKinds[kindOfField(fields, field) ?? "text"].wanted;',
    replacement: '""',
    why: "For the compiler: only fields of the table are asked for.",
  },
  {
    file: "src/http/installed-schemas.ts",
    line: 'const folder = require.resolve("zod/package.json").replace(/package\\.json$/, "v4/core/");',
    replacement: "/package\\.json/",
    why: "No folder is called package.json.",
  },
  {
    file: "src/http/installed-schemas.ts",
    line: "} catch {",
    replacement: "{}",
    why: "Nothing is undefined as well.",
  },
  {
    file: "src/http/sign-only.ts",
    line: 'throw report.failed(failureOfThrown(thrown), { kind: "signed", attempts: 0, effect: "none", isSent: false });',
    replacement: '""',
    why: "What fails before any attempt was made is told alike of each kind.",
  },
];
