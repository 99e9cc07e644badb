import { expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { ConnectionError, CrossBorderError, PagingError, UnexpectedResponseError } from "../../src/core/errors.js";
import { type NewestFirstOptions, newestFirst } from "../../src/paging/newest-first.js";
import { listReader, type ReaderQuery } from "../../src/paging/reader.js";
import { payments } from "../../src/resources/payments.js";
import * as dated from "../reconcile/model-service.js";
import { Recorded } from "../support/recorded.js";
import { type Defect, type ModelOptions, type ModelRecord, ModelService } from "./model-service.js";
import { refusal } from "./select-page.js";

/** A reading in a line: the requests, the ids of each page, and how it ended. */
async function readingOf<Item extends { readonly id: unknown }>(
  requests: readonly PagingValues[],
  pages: AsyncGenerator<readonly Item[], unknown>,
  nameOf = (token: string) => token,
): Promise<string> {
  const ids: string[] = [];
  let end: unknown;
  try {
    for (let next = await pages.next(); end === undefined; next = await pages.next()) {
      if (next.done) end = next.value ?? "end";
      else ids.push(`[${next.value.map(({ id }) => short(id)).join(" ")}]`);
    }
  } catch (error) {
    if (!(error instanceof CrossBorderError)) throw error;
    end = `throws ${error.code}`;
  }
  const asked = requests.map(({ _sort, _after, _before, _size }) =>
    [_sort, _after && `>${nameOf(_after)}`, _before && `<${nameOf(_before)}`, _size].filter(Boolean).join(" "),
  );
  return `${asked.join(", ")}\n  ${ids.join(" ")} ${JSON.stringify(end)}`;
}

const short = (id: unknown) => String(id).replace(/^[pr]0*(?=\d)/, "");

const hourMs = 3_600_000;
const { startMs } = dated;
const hourly = Array.from({ length: 24 }, (_, index) => ({ createdMs: startMs - (24 - index) * hourMs }));
const withFields = (fields: object) => hourly.map((payment) => ({ ...payment, fields }));
const capped = { cap: 5 };

/** Further services than ordinary ones. */
const odd: readonly (readonly [name: string, features: dated.ModelOptions, listed?: readonly dated.ModelPayment[]])[] =
  [
    ["sorts only what it cut out", { sort: "cut" }],
    ["sorts only what it cut out, 5 a page", { sort: "cut", ...capped }],
    ["ignores bounds", { bounds: "ignored" }],
    ["ignores bounds, 5 a page", { bounds: "ignored", ...capped }],
    ["blocks, of which the newest record has an early one", { tokens: "blocks" }, hourly.slice(0, 21)],
    ["the same, 5 a page", { tokens: "blocks", ...capped }, hourly.slice(0, 21)],
    ["no records", {}, []],
    ["one record", {}, hourly.slice(-1)],
    ["no tokens", {}, withFields({ pagingToken: undefined })],
    ["no ids", {}, withFields({ id: undefined })],
    ["times that can't be read", {}, withFields({ createdAt: "soon" })],
    ["one time", {}, hourly.map(() => ({ createdMs: startMs - 11 * hourMs }))],
    ["one time, 5 a page", capped, hourly.map(() => ({ createdMs: startMs - 11 * hourMs }))],
    ["pairs of one time", capped, hourly.flatMap((payment) => [payment, payment])],
    ["records of the last minute", {}, hourly.map((_, index) => ({ createdMs: startMs - index }))],
    ["records that come meanwhile", {}, [...hourly, ...[1, 8, 15].map((ms) => ({ createdMs: startMs + ms }))]],
    ["an old record that comes meanwhile", {}, [...hourly, { createdMs: startMs - hourMs, lateMs: hourMs + 10 }]],
  ];

const errors = {
  ...Object.fromEntries([400, 403, 422, 499, 500].map((status) => [status, refusal(status)])),
  unreadable: new UnexpectedResponseError("", { response: { status: 200, headers: {}, text: "" } }),
  unreachable: new ConnectionError(""),
  "out of order": new PagingError("", { code: "paging_order" }),
};
const failing = Object.entries(errors).flatMap(([name, error]) =>
  [1, 2, 3, 4].map((at) => {
    const failure = (_: unknown, number: number) => (number === at ? error : undefined);
    return [`request ${at} fails: ${name}`, { ...capped, failure }] as const;
  }),
);

const readings: readonly Partial<NewestFirstOptions>[] = [
  {},
  // A record of that hour is too old by less than the clocks may differ.
  { since: startMs - 10 * hourMs + 30_000 },
  { since: startMs - 10 * hourMs + 30_000, tokensFollowTime: true },
  { since: startMs - 10 * hourMs + 30_000, toTheEnd: true },
  // A record of that hour is just young enough.
  { since: startMs - 10 * hourMs + 60_000, tokensFollowTime: true },
  { maxRecords: 9 },
];

it("makes the recorded requests to read by time", async () => {
  const recorded = new Recorded();
  const services = [...dated.ordinaryServices, ...odd, ...failing];
  for (const [name, features, listed = hourly] of services as typeof odd) {
    for (const reading of readings) {
      const service = new dated.ModelService(listed, features);
      const options = { since: Number.NEGATIVE_INFINITY, clockSkewMs: 60_000, size: 8, ...reading };
      const nameOf = (token: string) =>
        short(service.all().find(({ pagingToken }) => String(pagingToken) === token)?.id ?? token);
      const pages = newestFirst(service.api, payments.list, options);
      recorded.add(`${name} ${JSON.stringify(reading)}`, await readingOf(service.requests, pages, nameOf));
    }
  }
  await expect(String(recorded)).toMatchFileSnapshot("recorded-by-time.txt");
});

const defects: readonly (Defect | undefined)[] = [
  ...([undefined, "ignores the cursor", "ignores _sort", "refuses _sort", "has no tokens"] as const),
  ...(["lists in no order", "sorts only what it cut out"] as const),
];
const sorts = [undefined, ["pagingToken.asc"], ["pagingToken.desc"], ["createdAt.desc"]];

/** What happens to a list, or to a page of it, while it is read. */
const changes: Readonly<Record<string, (service: ModelService, options: ModelOptions) => void>> = {
  nothing() {},
  ...Object.fromEntries([1, 3].map((lacks) => [`request 2 lacks ${lacks}`, (...made) => lag(2, 2, lacks, ...made)])),
  "requests 2 and 3 lack 6": (...made) => lag(2, 3, 6, ...made),
  "all but the first lack 6": (...made) => lag(2, 99, 6, ...made),
  "the last one moves": (service) => at([2], service, () => service.touch(3)),
  "all move": (service) => at([3], service, () => touchAll(service)),
  "all move, twice": (service) => at([3, 9], service, () => touchAll(service)),
  "one is added": (service) => at([2], service, () => service.add()),
  "the last ones leave": (service) => at([2], service, () => service.records.splice(3)),
};

function at(requests: readonly number[], service: ModelService, work: () => void): void {
  service.intercept = (_, number) => void (requests.includes(number) && work());
}

function touchAll(service: ModelService): void {
  for (const index of service.records.keys()) service.touch(index);
}

function lag(from: number, to: number, lacks: number, service: ModelService, options: ModelOptions): void {
  const replica = new ModelService({ ...options, count: Math.max(0, options.count - lacks) });
  service.intercept = (paging, number) => (number >= from && number <= to ? replica.select(paging) : undefined);
}

function* lists(): Generator<[ModelOptions, ReaderQuery<ModelRecord>, change: string]> {
  for (const defect of defects)
    for (const count of [2, 4, 9])
      for (const isInclusive of [false, true])
        for (const newestFirst of [false, true])
          for (const sort of sorts)
            yield [{ count, tokens: "number", cap: 4, defect, isInclusive, newestFirst }, { sort }, "nothing"];
  for (const change of Object.keys(changes))
    for (const sort of sorts)
      for (const isFiltered of [false, true])
        for (const newestFirst of [false, true])
          for (const trustCursor of [false, true])
            for (const count of [10, 18])
              yield [{ count, tokens: "number", cap: 4, newestFirst }, { sort, isFiltered, trustCursor }, change];
}

it("makes the recorded requests to read a list", async () => {
  const recorded = new Recorded();
  for (const [made, query, change] of lists()) {
    const service = new ModelService(made);
    changes[change]?.(service, made);
    const items = async function* () {
      for await (const page of listReader(service, query).pages()) yield page.items;
      return service.slept.length > 0 ? { slept: service.slept } : undefined;
    };
    const name = `${change} ${JSON.stringify({ ...made, ...query })}`;
    recorded.add(name, await readingOf(service.requested, items()));
  }
  await expect(String(recorded)).toMatchFileSnapshot("recorded-lists.txt");
});
