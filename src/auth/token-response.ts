import { encodeBase64 } from "#platform";
import { clock } from "../core/clock.js";
import { isShowable, redactText } from "../core/redact.js";
import { parseRetryAfterMs } from "../core/retry.js";
import { parseJsonObject } from "../wire/parse-json-object.js";
import type { WireResponse } from "../wire/transport.js";
import { classifyGrantResponse, type GrantFailure, isDeadGrant } from "./grant-failure.js";
import { isBearerToken } from "./token-source.js";

/** The fields of a token response that are used, under their names on the wire. */
export interface TokenFields {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string;
  /** In seconds. */
  readonly expires_in?: number;
  /** In seconds. Not described, but Keycloak sends it. */
  readonly refresh_expires_in?: number;
  /** Looked at where a user has logged in, and not otherwise. */
  readonly id_token?: string;
}

/**
 * Reads a response of the token endpoint (description: "Authentication", 3 and 4).
 *
 * @param secrets what the request held in secret: the response may repeat it, and no message may show it.
 */
export function readTokenResponse(
  response: WireResponse,
  secrets: readonly string[],
): { readonly fields: TokenFields } | { readonly failure: GrantFailure } {
  const { status, text, broken } = response;
  const fields = status === 200 && broken === undefined ? readFields(text) : undefined;
  return fields === undefined ? { failure: readFailure(response, secrets) } : { fields };
}

function readFields(text: string): TokenFields | undefined {
  const fields = parseJsonObject(text);
  const { access_token, token_type, refresh_token, expires_in, refresh_expires_in, id_token } = fields;
  // A token that is bound to a key is of no use here.
  if (typeof token_type !== "string" || token_type.toLowerCase() !== "bearer") return undefined;
  if (!isBearerToken(access_token)) return undefined;
  const lifetime = toSeconds(expires_in);
  const refreshLifetime = toSeconds(refresh_expires_in);
  return {
    access_token,
    token_type,
    ...(isSendable(refresh_token) ? { refresh_token } : undefined),
    ...(lifetime === undefined ? undefined : { expires_in: lifetime }),
    ...(refreshLifetime === undefined ? undefined : { refresh_expires_in: refreshLifetime }),
    ...(typeof id_token === "string" ? { id_token } : undefined),
  };
}

/** What a response says of a session that was to be ended: nothing where that of the refresh token has ended, now or before. */
export function readLogoutResponse(response: WireResponse, secrets: readonly string[]): GrantFailure | undefined {
  if (response.status >= 200 && response.status < 300) return undefined;
  const failure = readFailure(response, secrets);
  return isDeadGrant(failure) ? undefined : failure;
}

/** Half of a surrogate pair has no encoding: a form would carry another token. */
export function isSendable(refreshToken: unknown): refreshToken is string {
  return typeof refreshToken === "string" && refreshToken !== "" && !/\p{Cs}/u.test(refreshToken);
}

/** A lifetime that is absent or makes no sense counts as none: such a token is used until a 401. */
function toSeconds(expiresIn: unknown): number | undefined {
  const seconds = typeof expiresIn === "string" && /^\d+$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

function readFailure({ status, headers, text, broken }: WireResponse, secrets: readonly string[]): GrantFailure {
  const reason = status === 200 && broken !== undefined ? lost.get(broken) : undefined;
  if (reason !== undefined) return { class: "maybe-sent", reason };
  const { error, error_description } = parseJsonObject(text);
  const failure = { class: classifyGrantResponse(status, error, isPage(headers, text)), status };
  if (failure.class === "unreadable") return failure;
  const retryAfterMs = parseRetryAfterMs(headers["retry-after"], clock.wallMs());
  const serviceCode = toSafeCode(error, secrets);
  const serviceMessage = typeof error_description === "string" ? toSafeLine(error_description, secrets) : "";
  return {
    ...failure,
    ...(serviceCode === undefined ? undefined : { serviceCode }),
    ...(serviceMessage === "" ? undefined : { serviceMessage }),
    ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
  };
}

/** A success of which not all arrived. */
const lost: ReadonlyMap<string, string> = new Map([
  ["cut-short", "CUT_SHORT"],
  ["timeout", "DEADLINE"],
  ["abort", "ABORTED"],
]);

/** A page of maintenance, say, in the place of the endpoint. */
function isPage(headers: WireResponse["headers"], text: string): boolean {
  return /^text\/html\b/i.test(headers["content-type"] ?? "") || /^\s*</.test(text);
}

/** Word for word, since it may be a sentence ("Realm does not exist"); not at all where it gives a secret away. */
function toSafeCode(error: unknown, secrets: readonly string[]): string | undefined {
  if (typeof error !== "string" || !/^[^\p{Cc}]{1,256}$/u.test(error)) return undefined;
  // Two or three letters can stand in any code by chance.
  return secrets.includes(error) || !isShowable(error, secrets) ? undefined : error;
}

/** One line of a text that another server wrote, without the secrets. */
export function toSafeLine(text: string, secrets: readonly string[]): string {
  const line = redactText(text, secrets.flatMap(writtenForms))
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  // Very short secrets can't be taken out of a text without tearing it apart, so the whole text is dropped.
  if (secrets.some((secret) => secret !== "" && line.includes(secret))) return "";
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** The value as it is, and as it stands in a form, in an address and in Base64. */
function writtenForms(secret: string): string[] {
  const inForm = new URLSearchParams({ "": secret }).toString().slice(1);
  const inBase64 = encodeBase64(new TextEncoder().encode(secret));
  return [secret, inForm, encodeURIComponent(secret), inBase64, inBase64.replaceAll("=", "")];
}
