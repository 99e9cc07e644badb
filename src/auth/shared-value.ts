import { later, now } from "../core/clock.js";
import { parseJsonObject } from "../wire/parse-json-object.js";
import { isNotedRefusal, type NotedRefusal } from "./hold.js";
import type { Granted } from "./token-endpoint.js";
import { isSendable } from "./token-response.js";
import { isBearerToken } from "./token-source.js";
import { type Token, toToken } from "./token-timing.js";

/** The session of a fleet, as it lies in its store. Times are those of the wall clock, the only one that machines share. */
export interface SharedValue {
  /** Absent until the first refresh of a session that was given by its refresh token. */
  readonly accessToken?: string;
  /** Absent where the response gave no lifetime; so is the next one. */
  readonly lifetimeMs?: number;
  readonly expiresAtMs?: number;
  readonly refreshToken?: string;
  readonly refreshExpiresAtMs?: number;
  /** Set before the refresh token is sent, by the process that sends it. No other process sends it from then on. */
  readonly spentBy?: string;
  /** Set where a login was refused, until another one was not. */
  readonly refused?: NotedRefusal;
}

export function toSharedValue(granted: Granted, kept: string | undefined): SharedValue {
  const { accessToken, lifetimeMs, refreshToken = kept, refreshLifetimeMs, sentAt } = granted;
  return {
    accessToken,
    ...(lifetimeMs === undefined ? undefined : { lifetimeMs, expiresAtMs: sentAt.wallMs + lifetimeMs }),
    ...(refreshToken === undefined ? undefined : { refreshToken }),
    ...(refreshLifetimeMs === undefined ? undefined : { refreshExpiresAtMs: sentAt.wallMs + refreshLifetimeMs }),
  };
}

export function writeSharedValue(value: SharedValue): string {
  return JSON.stringify({ v: 1, ...value });
}

/** Returns `undefined` where the text is not what this release writes. */
export function readSharedValue(text: string): SharedValue | undefined {
  const { v, accessToken, lifetimeMs, expiresAtMs, refreshToken, refreshExpiresAtMs, spentBy, refused } =
    parseJsonObject(text);
  const isValid =
    v === 1 &&
    isAbsentOr(isBearerToken, accessToken) &&
    isAbsentOr(isTime, lifetimeMs) &&
    isAbsentOr(isTime, expiresAtMs) &&
    (lifetimeMs === undefined) === (expiresAtMs === undefined) &&
    isAbsentOr(isSendable, refreshToken) &&
    isAbsentOr(isTime, refreshExpiresAtMs) &&
    isAbsentOr(isText, spentBy) &&
    isAbsentOr(isNotedRefusal, refused);
  if (!isValid) return undefined;
  const value = { accessToken, lifetimeMs, expiresAtMs, refreshToken, refreshExpiresAtMs, spentBy, refused };
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as SharedValue;
}

/** The access token of the value. It lasts no longer than its lifetime from now on, whatever the clock of its writer said. */
export function sharedToken(value: SharedValue, leewayMs: number | undefined): Token | undefined {
  const { accessToken, lifetimeMs, expiresAtMs = 0 } = value;
  if (accessToken === undefined) return undefined;
  const at = now();
  if (lifetimeMs === undefined) return toToken(accessToken, at, undefined);
  const leftMs = Math.min(expiresAtMs - at.wallMs, lifetimeMs);
  return toToken(accessToken, later(at, leftMs - lifetimeMs), lifetimeMs, leewayMs);
}

/** The refresh token, where it can be sent. */
export function unspentRefreshToken(value: SharedValue): string | undefined {
  const { refreshToken, refreshExpiresAtMs = Number.POSITIVE_INFINITY, spentBy } = value;
  return spentBy === undefined && refreshExpiresAtMs > now().wallMs ? refreshToken : undefined;
}

/** How long the value is of any use: as long as its refresh token, or 30 days where nothing says how long that lives. */
export function usefulForMs({ refreshToken, refreshExpiresAtMs, expiresAtMs }: SharedValue): number {
  const endsAtMs = refreshToken === undefined ? expiresAtMs : refreshExpiresAtMs;
  const leftMs = endsAtMs === undefined ? longestMs : endsAtMs - now().wallMs;
  return Math.ceil(Math.min(longestMs, Math.max(leastMs, leftMs)));
}

const leastMs = 1000;
const longestMs = 30 * 86_400_000;

function isAbsentOr(isRight: (part: unknown) => boolean, part: unknown): boolean {
  return part === undefined || isRight(part);
}

function isTime(part: unknown): boolean {
  return typeof part === "number" && Number.isFinite(part) && part >= 0;
}

function isText(part: unknown): boolean {
  return typeof part === "string" && part !== "";
}
