import { expect } from "vitest";
import type { SandboxServerOptions } from "../../../src/sandbox/index.js";
import { intent } from "./probe-fixture.js";

/** A service to be probed: options of the sandbox, all of whose behaviours differ from the others' somewhere. */
export type ProbedService = Omit<SandboxServerOptions, "console" | "now" | "onRequest" | "onResponse">;

const between = (least: number, most: number) =>
  expect.toSatisfy((value: unknown) => Number(value) >= least && Number(value) <= most, `from ${least} to ${most}`);

/**
 * What each question has to find out about a sandbox with these options: derived from the options alone.
 *
 * @param payments how many payments there were at first.
 * @param patienceMs of the probe.
 */
export function rightAnswers(options: ProbedService, payments: number, patienceMs: number): Record<string, unknown> {
  const { maxSize = 100, defaultSize = 20, pagingTokens = "payments", quirks = {}, basePath = "" } = options;
  const { machineClocksMs = [0], ignoredSort = "none", inclusiveBounds = "none", errorForm = "described" } = quirks;
  const hasTokens = pagingTokens !== "none";
  const isSkewed = machineClocksMs.length > 1;
  const skewMs = Math.max(...machineClocksMs) - Math.min(...machineClocksMs);
  const direction = quirks.newestFirst ? "down" : "up";
  const largest = Math.min(maxSize, defaultSize);
  const form = (status: number, of: "error" | "code" = "error") => {
    if (errorForm === "html") return `${status} (text/html)`;
    if (errorForm === "problem") return `${status} (application/problem+json: detail, status, title, type)`;
    return `${status} (application/json: ${of}, message)`;
  };
  const sorts = ignoredSort === "all" ? "ignored" : "kept to";
  const bound = (which: "after" | "before") =>
    inclusiveBounds === which || inclusiveBounds === "both" ? "inclusive" : "exclusive";
  const filter = (name: string) => {
    if (quirks.paymentFilters?.includes(name) ?? true) return "filters";
    return quirks.unknownFilters ?? "refused";
  };
  const tokensOn = (isPayments: boolean) => pagingTokens === "all" || (isPayments && hasTokens);
  const lagMs = (quirks.listedAfterMs ?? 0) + (quirks.replicaLagMs ?? 0);
  const onMemo = (isAllowed: boolean) => (isAllowed ? "kept" : quirks.excessMemo === "cut" ? "changed" : "refused");
  const isAnyMemo = quirks.memoCharacters !== "ascii";
  const scale = quirks.receiverAmountScale ?? 8;
  const lifetimeMs = quirks.intentLifetimeMs ?? Number.POSITIVE_INFINITY;
  const [firstRefused = null] = [1, 2, 3, 4].map((part) => (part * patienceMs) / 4).filter((ms) => ms >= lifetimeMs);
  const lifetime = options.tokenLifetimeSeconds ?? 300;
  const isWhole = quirks.signedPath !== "withoutBase";
  const needed = quirks.requiredFields;
  return {
    "size.default": payments > largest ? largest : expect.stringContaining("open"),
    "size.largest":
      quirks.oversize === "refused"
        ? { largest: maxSize, above: "refused" }
        : payments > maxSize && hasTokens
          ? { largest: maxSize, above: "clipped" }
          : expect.stringContaining("open"),
    "list.order": { createdAt: isSkewed ? "neither" : direction, tokens: hasTokens ? direction : "none" },
    "tokens.kind": hasTokens ? (quirks.textTokens ? "texts" : "numbers") : "none",
    "tokens.lists": expect.objectContaining({
      ...{ "payments.list": tokensOn(true), "paymentGateways.list": tokensOn(false) },
      ...{ "liquidityProviders.list": tokensOn(false), "liquidityProviders.deposits.list": null },
    }),
    bounds: hasTokens ? { after: bound("after"), before: bound("before") } : expect.stringContaining("open"),
    sort: {
      ...{
        createdAt: sorts,
        id: sorts,
        pagingToken: hasTokens ? sorts : expect.stringMatching(/^(not known|ignored)$/),
      },
      several: ignoredSort === "none" ? "kept to" : "ignored",
    },
    "filters.unknown": quirks.unknownFilters ?? "refused",
    "filters.payments": Object.fromEntries(
      ["id", "senderGatewayTransactionId", "senderGatewayId", "receiverGatewayStatus"].map((name) => [
        name,
        filter(name),
      ]),
    ),
    "clocks.createdAt": hasTokens ? (isSkewed ? between(skewMs - 2500, skewMs) : 0) : expect.stringContaining("open"),
    caches: {
      seen: !quirks.cacheSeconds ? "none seen" : quirks.cacheIgnoresNoCache ? "ignores no-cache" : "keeps to no-cache",
      cacheControl: quirks.cacheSeconds ? `max-age=${quirks.cacheSeconds}` : null,
    },
    compression: quirks.compresses ? "gzip" : "none",
    latency: { p50: expect.any(Number), p95: expect.any(Number), p99: expect.any(Number) },
    "clocks.date": quirks.cacheIgnoresNoCache
      ? expect.stringContaining("a cache")
      : {
          ...{ machines: machineClocksMs.length, apartMs: isSkewed ? between(skewMs - 1100, skewMs + 1100) : 0 },
          aheadMs: isSkewed
            ? expect.any(Number)
            : between((machineClocksMs[0] ?? 0) - 1000, (machineClocksMs[0] ?? 0) + 1000),
        },
    "errors.400": form(400),
    "errors.401": { missing: form(401), wrong: form(401) },
    "errors.404": { record: form(quirks.unknownRecordStatus ?? 400, "code"), path: form(404) },
    "session.lifetime": { seconds: lifetime, isRefusedThen: 1000 * lifetime < patienceMs ? true : null },
    "session.rotation": {
      isRotated: options.rotateRefreshTokens ?? false,
      spent: !options.rotateRefreshTokens || quirks.spentRefreshTokens === "taken" ? "taken" : "refused",
    },
    // Node waits for up to a second more, by its version.
    "connections.idle": quirks.idleSeconds ? between(quirks.idleSeconds - 0.2, quirks.idleSeconds + 2.5) : null,
    "signature.path": {
      basePath: basePath === "" ? "there is none" : isWhole ? "signed" : "left out",
      query: options.signQuery ? "signed" : "left out",
    },
    "signature.wrong": {
      ...{ wrong: expect.stringContaining(form(400)), missing: expect.stringContaining(form(400)) },
      wrongKey:
        errorForm === "html" ? form(400) : `${form(400)}, ${quirks.tellsWrongKey ? "wrong_key" : "invalid_signature"}`,
    },
    "intents.twice": quirks.singleUseIntents ? "refused" : "a further payment",
    "payments.again": secondSending(options),
    "creates.fields": {
      intent: needed?.["paymentIntents.create"] ?? Object.keys(intent),
      payment: needed?.["payments.create"] ?? ["memo", "senderName", "receiverName", "receivingGatewayFee"],
    },
    "amounts.digits": {
      ...{ receiver: Math.min(8, scale), sender: options.senderAmountScale ?? 2 },
      beyond: scale >= 8 ? "not known" : (quirks.excessDigits ?? "refused"),
    },
    memo: {
      longest: quirks.maxMemoLength ?? 1024,
      beyond: quirks.maxMemoLength === undefined ? "not known" : onMemo(false),
      ...{ ascii: "kept", accents: onMemo(isAnyMemo), emoji: onMemo(isAnyMemo), line: onMemo(isAnyMemo) },
    },
    extras: quirks.losesExtras ? "lost" : "kept",
    updates: quirks.updateClears ? "emptied" : "left alone",
    "payments.listed": {
      slowestMs: lagMs === 0 ? between(0, 2500) : between(quirks.listedAfterMs ?? 0, lagMs + 2500),
      disappears: (quirks.replicaLagMs ?? 0) > 0,
    },
    "payments.createdAt": {
      apartMs: isSkewed ? between(skewMs - 600, skewMs + 600) : 0,
      aheadMs: isSkewed
        ? expect.any(Number)
        : between((machineClocksMs[0] ?? 0) - 1000, (machineClocksMs[0] ?? 0) + 1000),
    },
    "intents.lifetime": {
      payableMs: firstRefused === null ? patienceMs : firstRefused - patienceMs / 4,
      refusedMs: firstRefused === null ? null : between(firstRefused, firstRefused + 2500),
    },
  };
}

function secondSending({ quirks = {} }: ProbedService): string {
  const { repeatedRequests = "taken", singleUseIntents = false } = quirks;
  if (repeatedRequests === "same") return "the same payment";
  return repeatedRequests === "refused" || singleUseIntents ? "refused" : "a further payment";
}

/** Ten services that differ. */
export const probedServices: Readonly<Record<string, ProbedService>> = {
  "as described": { basePath: "/gateway/v1" },
  "small pages, inclusive": {
    ...{ basePath: "/gateway/v1", maxSize: 5, defaultSize: 4, rotateRefreshTokens: true },
    quirks: { inclusiveBounds: "both", textTokens: true, singleUseIntents: true, receiverAmountScale: 2 },
  },
  "no sort, no filters": {
    quirks: {
      ...{ ignoredSort: "all", unknownFilters: "ignored", paymentFilters: ["id"], repeatedRequests: "same" },
      ...{ updateClears: true, losesExtras: true, compresses: true },
    },
  },
  "tokens everywhere, refused sizes": {
    ...{ maxSize: 7, defaultSize: 5, pagingTokens: "all", signQuery: true, senderAmountScale: 3 },
    quirks: { oversize: "refused", ignoredSort: "further", inclusiveBounds: "after", tellsWrongKey: true },
  },
  "no tokens": {
    ...{ pagingTokens: "none", basePath: "/v2", tokenLifetimeSeconds: 2 },
    quirks: { errorForm: "problem", unknownRecordStatus: 404, signedPath: "withoutBase", repeatedRequests: "refused" },
  },
  "late, with short-lived intents": {
    quirks: {
      listedAfterMs: 600,
      intentLifetimeMs: 1900,
      maxMemoLength: 40,
      excessMemo: "cut",
      memoCharacters: "ascii",
    },
  },
  "two machines": {
    ...{ rotateRefreshTokens: true },
    quirks: {
      machineClocksMs: [0, 6000],
      spentRefreshTokens: "taken",
      excessDigits: "rounded",
      receiverAmountScale: 3,
    },
  },
  "a replica that lags": {
    ...{ basePath: "/gateway/v1" },
    quirks: { replicaLagMs: 1500, idleSeconds: 1, paymentFilters: ["id", "senderGatewayId"], newestFirst: true },
  },
  "a cache that keeps to no-cache": {
    ...{ maxSize: 6 },
    quirks: {
      cacheSeconds: 30,
      errorForm: "html",
      inclusiveBounds: "before",
      memoCharacters: "ascii",
      maxMemoLength: 100,
    },
  },
  "a cache that does not": {
    quirks: {
      ...{ cacheSeconds: 600, cacheIgnoresNoCache: true, machineClocksMs: [9000], newestFirst: true, textTokens: true },
      requiredFields: {
        "paymentIntents.create": [
          ...["senderGatewayId", "senderCurrency", "receiverGatewayId", "receiverCurrency", "receiverAmount"],
        ],
        "payments.create": [],
      },
    },
  },
};
