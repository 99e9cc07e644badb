import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiClient, PagingValues } from "../../../src/api/api-client.js";
import { BadRequestError, UnexpectedResponseError } from "../../../src/errors/errors.js";
import { FlowCall } from "../../../src/flows/flow-call.js";
import { lookForPayment } from "../../../src/flows/looking/look-for-payment.js";
import { NewestPayment } from "../../../src/flows/looking/newest-payment.js";
import type { Mark } from "../../../src/flows/state/flow-state.js";
import { toApiPromise } from "../../../src/http/api-promise.js";
import type { Payment } from "../../../src/resources/payments.js";
import { Alarm } from "../../../src/timing/alarm.js";
import { fakeApiClient } from "../../paging/fake-api-client.js";
import { runs } from "../../support/thorough.js";
import { intent } from "../gateway-client.js";
import { lookContext } from "../look-context.js";

const transactionId = "tx-own";
const ownBody = JSON.stringify({ ...intent, senderGatewayTransactionId: transactionId });
const ownSignature = Buffer.alloc(256, 7).toString("base64");

/** How a service makes the token of its nth payment. Whole numbers compare by value, all others as texts. */
const tokenStyles: Readonly<Record<string, (index: number) => string>> = {
  "growing numbers": (index) => String(index + 1),
  "numbers of one length": (index) => String(index + 1_000_000),
  "falling numbers": (index) => String(1_000_000 - index),
  UUIDs: (index) => uuid(index),
  "numbers from sequences that four machines cache": (index) => String(cached(index, 4, 20)),
  "numbers from sequences that two machines cache": (index) => String(cached(index, 2, 100)),
  "numbers from such sequences, by chance": (index) => String(cachedAtRandom(index, 3, 50)),
  "numbers in the order of texts, from 1 on": (index) => String(index + 1),
  "numbers in the order of texts, from 900 on": (index) => String(index + 900),
  "numbers in the order of texts, from 9,700 on": (index) => String(index + 9_700),
  "falling numbers in the order of texts": (index) => String(1_200 - index),
};

function isInOrderOfTexts(style: string): boolean {
  return style === "UUIDs" || style.includes("order of texts");
}

/** As `cached`, where chance decides which machine responds. */
function cachedAtRandom(index: number, machines: number, cache: number): number {
  const machine = machineAt(index) % machines;
  let nth = 0;
  for (let at = 0; at < index; at++) if (machineAt(at) % machines === machine) nth += 1;
  return cached(nth * machines + machine, machines, cache);
}

const machinesAt = Array.from({ length: 1000 }, (_, index) => Number.parseInt(uuid(index).slice(0, 4), 16));
const machineAt = (index: number) => machinesAt[index] ?? expect.fail("there are not so many payments");

function uuid(index: number): string {
  const mixed = [3, 7, 11, 13].map((factor) => (Math.imul(index + factor, 2_654_435_761 * factor) >>> 0).toString(16));
  return mixed.map((part) => part.padStart(8, "0")).join("");
}

/** Each machine hands out numbers of a range of its own, then takes the next range. */
function cached(index: number, machines: number, cache: number): number {
  const machine = index % machines;
  const nth = Math.floor(index / machines);
  return (Math.floor(nth / cache) * machines + machine) * cache + (nth % cache) + 1;
}

interface Service {
  readonly style: string;
  readonly maxSize: number;
  /** How many records fit into a response. */
  readonly fitting: number;
  /** Takes the payments with the lowest tokens, and sorts only those. */
  readonly sortsWhatItCutOut: boolean;
  readonly payments: Payment[];
  requests: number;
}

function payment(service: Pick<Service, "style">, index: number, more: Partial<Payment> = {}): Payment {
  const createdAt = new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString();
  const pagingToken = tokenStyles[service.style]?.(index) ?? "";
  const other = {
    senderGatewayTransactionId: `tx-${index}`,
    creationRequestBody: `{"id":"pi-${index}"}`,
    creationRequestSignatureBase64: Buffer.alloc(256, index % 7).toString("base64"),
  };
  return { ...intent, ...other, ...more, id: `p-${index}`, createdAt, updatedAt: createdAt, pagingToken } as Payment;
}

function serviceOf(style: string, count: number, options: Partial<Service> = {}): Service {
  const defaults = { maxSize: 1000, fitting: Number.POSITIVE_INFINITY, sortsWhatItCutOut: false, requests: 0 };
  const service = { style, ...defaults, ...options };
  return { ...service, payments: Array.from({ length: count }, (_, index) => payment(service, index)) };
}

function add(service: Service, more: Partial<Payment>): Payment {
  const added = payment(service, service.payments.length, more);
  service.payments.push(added);
  return added;
}

const own: Partial<Payment> = {
  senderGatewayTransactionId: transactionId,
  creationRequestBody: ownBody,
  creationRequestSignatureBase64: ownSignature,
};

function clientOf(service: Service) {
  return fakeApiClient({
    call: (_operation, _ids, input) =>
      toApiPromise(Promise.resolve().then(() => pageOf(service, input?.paging ?? {})) as Promise<never>, {
        response: undefined,
      }),
  });
}

function pageOf(service: Service, { _size = 20, _after, _before, _sort = "pagingToken.asc" }: PagingValues): Payment[] {
  service.requests += 1;
  const isOfTexts = isInOrderOfTexts(service.style);
  const compare = (one: string, other: string) =>
    isOfTexts ? (one < other ? -1 : one > other ? 1 : 0) : Number(one) - Number(other);
  const [field = "", way] = _sort.split(".");
  const sign = way === "desc" ? -1 : 1;
  const limit = Math.min(_size, service.maxSize);
  const within = service.payments
    .filter(({ pagingToken }) => _after === undefined || compare(pagingToken, _after) > 0)
    .filter(({ pagingToken }) => _before === undefined || compare(pagingToken, _before) < 0);
  const cut = service.sortsWhatItCutOut
    ? within.sort((one, other) => compare(one.pagingToken, other.pagingToken)).slice(0, limit)
    : within;
  const rows = cut
    .sort((one, other) =>
      field === "createdAt"
        ? sign * (one.createdAt < other.createdAt ? -1 : 1)
        : sign * compare(one.pagingToken, other.pagingToken),
    )
    .slice(0, limit);
  if (rows.length > service.fitting) {
    const response = { status: 200, headers: {}, text: "" };
    throw new UnexpectedResponseError("payments.list: the response is larger than maxResponseBytes allows", {
      response,
    });
  }
  return rows;
}

const state = {
  intent,
  senderGatewayTransactionId: transactionId,
  claims: [{ body: ownBody, signature: ownSignature }],
};

const call = new FlowCall(undefined, new Alarm(), undefined);

/** A look that may end at its mark, and is no more than a report: a decision needs a sure mark for that. */
async function look(service: Service, since: Mark = null) {
  return lookAt(clientOf(service), since);
}

function lookAt(client: ApiClient, since: Mark = null) {
  return lookForPayment(lookContext(client), call, { ...state, since }, "reports");
}

function markOf(service: Service): Promise<Mark> {
  return new NewestPayment(clientOf(service), { note: () => {} }, 60_000).mark(call);
}

const services = fc
  .record({
    style: fc.constantFrom(...Object.keys(tokenStyles)),
    maxSize: fc.constantFrom(2, 3, 7, 50, 100, 1000),
    fitting: fc.constantFrom(2, 3, 99, Number.POSITIVE_INFINITY),
    sortsWhatItCutOut: fc.boolean(),
    before: fc.integer({ min: 0, max: 350 }),
    ahead: fc.integer({ min: 0, max: 40 }),
    behind: fc.integer({ min: 0, max: 250 }),
  })
  // Nothing but reading all of it tells its first page from that of a service without payments behind it.
  .filter(({ style, sortsWhatItCutOut }) => !(sortsWhatItCutOut && style === "falling numbers in the order of texts"));

describe("a look", () => {
  it.each([
    ["a zone", 23],
    ["a time of day", 10],
  ])("does not end at the time of the taking where createdAt has not %s", async (_, length) => {
    // In some zone, or at midnight, all of them were made long before that.
    const service = serviceOf("growing numbers", 100);
    const made = add(service, own);
    const takenAtMs = Date.parse(made.createdAt) + 16 * 3_600_000;
    for (let index = 0; index < 150; index++) add(service, {});
    for (const listed of service.payments) Object.assign(listed, { createdAt: listed.createdAt.slice(0, length) });
    const sought = { ...state, since: null, takenAtMs };
    const { found } = await lookForPayment(lookContext(clientOf(service)), call, sought, "decides");
    expect(found).toBe(made);
  });

  it("finds a payment that is listed, and is complete where it is not, whatever the tokens look like", async () => {
    await fc.assert(
      fc.asyncProperty(services, fc.boolean(), async ({ style, before, ahead, behind, ...limits }, isThere) => {
        const service = serviceOf(style, before, limits);
        const since = await markOf(service);
        for (let index = 0; index < ahead; index++) add(service, {});
        const made = isThere ? add(service, own) : undefined;
        for (let index = 0; index < behind; index++) add(service, {});
        const { look: seen, found } = await look(service, since);
        expect(found).toBe(made);
        expect([seen.complete, seen.found]).toEqual([true, isThere ? true : undefined]);
        for (const absent of ["problem", "lookalike"]) expect(seen).not.toHaveProperty(absent);
      }),
      { numRuns: Number(process.env.CBP_RUNS ?? runs(200)) },
    );
  });

  it("stops at the newest payment of before, where the tokens have proved to go one way", async () => {
    for (const style of ["growing numbers", "falling numbers"]) {
      const service = serviceOf(style, 5000);
      const since = await markOf(service);
      add(service, {});
      service.requests = 0;
      expect((await look(service, since)).look).toMatchObject({
        seen: 100,
        complete: true,
        // The page ends behind the mark by as much as the service's clocks may differ.
        grounds: { mark: "met", end: "enough", pastMarkMs: 98_000 },
      });
      // The page, and whether anything is newer.
      expect(service.requests).toBe(2);
    }
  });

  it.each([
    ["growing numbers", 0],
    ["falling numbers", 0],
    ["UUIDs", 0],
    ["growing numbers", 1],
  ])(
    "reads on where a service sorts only what it cut out, with %s and a mark %i from the oldest",
    async (style, mark) => {
      const service = serviceOf(style, 150, { sortsWhatItCutOut: true });
      const made = add(service, own);
      for (let index = 0; index < 150; index++) add(service, {});
      const since = mark === 0 ? null : (service.payments[mark]?.pagingToken ?? null);
      expect((await look(service, since)).found).toBe(made);
    },
  );

  it.each([
    ["from 9 to 10 and 100", "numbers in the order of texts, from 1 on", 7, 400],
    ["from 99 to 100", "numbers in the order of texts, from 1 on", 60, 400],
    ["from 999 to 1000", "numbers in the order of texts, from 900 on", 50, 400],
    ["up to 999", "numbers in the order of texts, from 1 on", 96, 902],
    ["from 9999 to 10000", "numbers in the order of texts, from 9,700 on", 250, 500],
    ["from 1000 down to 999", "falling numbers in the order of texts", 100, 500],
  ])("finds a payment in numbers that the service orders as texts, %s", async (_, style, before, behind) => {
    for (const maxSize of [100, 37]) {
      const service = serviceOf(style, before, { maxSize });
      const since = await markOf(service);
      const made = add(service, own);
      for (let index = 0; index < behind; index++) add(service, {});
      for (const mark of [since, null]) expect((await look(service, mark)).found).toBe(made);
    }
  });

  it("finds a payment that got a higher token than one made after it, wherever a page ends", async () => {
    for (let behind = 90; behind < 110; behind++) {
      const service = serviceOf("numbers of one length", 150);
      const made = add(service, own);
      for (let index = 0; index < behind; index++) add(service, {});
      const next = service.payments[151];
      if (next === undefined) throw new Error("no payment after it");
      [made.pagingToken, next.pagingToken] = [next.pagingToken, made.pagingToken];
      expect((await look(service)).found).toBe(made);
    }
  });

  it("is complete where numbers that are ordered as texts come two by two, and begin with a fall", async () => {
    const service = serviceOf("numbers in the order of texts, from 900 on", 101, { maxSize: 2 });
    expect((await look(service)).look).toMatchObject({ seen: 101, complete: true });
  });

  it("finds a payment where they come one by one, and is not complete without it", async () => {
    const service = serviceOf("growing numbers", 30, { maxSize: 1 });
    expect((await look(service)).look).toMatchObject({
      seen: 30,
      complete: false,
      problem: expect.stringContaining("one by one"),
    });
    const made = add(service, own);
    expect((await look(service)).found).toBe(made);
  });

  it("reads on where a service refuses to say what is newer", async () => {
    const service = serviceOf("growing numbers", 300);
    const strict = fakeApiClient({
      call: (_operation, _ids, input) => {
        const { _size, _sort = "" } = input?.paging ?? {};
        const isQuestion = _size === 1 || _sort.includes(",");
        return toApiPromise(
          (isQuestion
            ? Promise.reject(
                new BadRequestError("no", { code: "http_400", response: { status: 400, headers: {}, text: "" } }),
              )
            : Promise.resolve(pageOf(service, input?.paging ?? {}))) as Promise<never>,
          { response: undefined },
        );
      },
    });
    const { look: seen } = await lookAt(strict);
    expect(seen).toMatchObject({ seen: 300, complete: true });
  });

  it("is not complete where the list does not go on after a token", async () => {
    const service = serviceOf("growing numbers", 300);
    const stuck = fakeApiClient({
      call: () =>
        toApiPromise(Promise.resolve(service.payments.slice(0, 100)) as Promise<never>, { response: undefined }),
    });
    const { look: seen, found } = await lookAt(stuck);
    expect(found).toBeUndefined();
    expect(seen).toMatchObject({ complete: false, problem: expect.any(String) });
  });

  it.each([
    ["without tokens", ({ pagingToken: _, ...rest }: Payment) => rest],
    ["with empty tokens", (one: Payment) => ({ ...one, pagingToken: "" })],
  ])("is not complete where payments are listed %s", async (_, change) => {
    const service = serviceOf("growing numbers", 30);
    const bare = fakeApiClient({
      call: () =>
        toApiPromise(Promise.resolve(service.payments.map(change)) as Promise<never>, { response: undefined }),
    });
    const { look: seen } = await lookAt(bare);
    expect(seen).toMatchObject({ complete: false, problem: expect.stringContaining("without a paging token") });
  });

  it("is not complete where the service sorts by something else", async () => {
    const service = serviceOf("UUIDs", 300);
    const unsorted = fakeApiClient({
      call: (_operation, _ids, input) =>
        toApiPromise(Promise.resolve(pageOf(service, { ...input?.paging, _sort: "createdAt.asc" })) as Promise<never>, {
          response: undefined,
        }),
    });
    expect((await lookAt(unsorted)).look.complete).toBe(false);
  });
});

describe("a payment", () => {
  const { id: _, ...ownWithoutId } = JSON.parse(ownBody) as Record<string, unknown>;
  const reordered = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(ownBody)).reverse()));
  const otherAmounts = ownBody.replace('"10.00"', '"10"').replace('"9.2500"', '"9.25"');
  const foreign = Buffer.alloc(256, 9).toString("base64");
  const { senderGatewayTransactionId: __, ...unnamed } = own;

  it.each<[string, Partial<Payment>]>([
    ["the signature", own],
    ["the signature alone", { ...unnamed, creationRequestBody: "" }],
    [
      "the signature in Base64url",
      { ...own, creationRequestSignatureBase64: Buffer.alloc(256, 7).toString("base64url") },
    ],
    ["the signature in lines", { ...own, creationRequestSignatureBase64: ownSignature.replace(/.{64}/g, "$&\r\n") }],
    ["the body, and no signature", { ...own, creationRequestSignatureBase64: "" }],
    ["the body, and the signature in hex", { ...own, creationRequestSignatureBase64: "07".repeat(256) }],
    ["the body in another order", { ...own, creationRequestBody: reordered, creationRequestSignatureBase64: "" }],
    ["amounts of the same value", { ...own, creationRequestBody: otherAmounts, creationRequestSignatureBase64: "" }],
  ])("is found by %s", async (_, more) => {
    const service = serviceOf("growing numbers", 3);
    const made = add(service, more);
    expect(await look(service)).toMatchObject({ found: { id: made.id }, look: { complete: true } });
  });

  it.each<[string, Partial<Payment>]>([
    [
      "another signature and another body",
      { ...own, creationRequestSignatureBase64: foreign, creationRequestBody: "{}" },
    ],
    ["another signature and the same body", { ...own, creationRequestSignatureBase64: foreign }],
    [
      "no signature and a body without the intent's id",
      { ...own, creationRequestSignatureBase64: "", creationRequestBody: JSON.stringify(ownWithoutId) },
    ],
    [
      "no signature and another amount",
      { ...own, creationRequestSignatureBase64: "", creationRequestBody: ownBody.replace('"10.00"', '"10.01"') },
    ],
    ["no signature and no body", { ...own, creationRequestSignatureBase64: "", creationRequestBody: "" }],
    [
      "no signature, and the transaction id in the body alone",
      {
        ...own,
        senderGatewayTransactionId: "",
        creationRequestSignatureBase64: "",
        creationRequestBody: JSON.stringify(ownWithoutId),
      },
    ],
  ])("is a lookalike with our transaction id and %s", async (_, more) => {
    const service = serviceOf("growing numbers", 3);
    const alike = add(service, more);
    const { look: seen, found } = await look(service);
    expect(found).toBeUndefined();
    expect(seen).toMatchObject({ complete: true, lookalike: { id: alike.id } });
  });

  it.each<[string, Partial<Payment>]>([
    [
      "of another gateway with our transaction id",
      { ...own, senderGatewayId: "gamma", creationRequestSignatureBase64: foreign, creationRequestBody: "{}" },
    ],
    ["with nothing to recognise it by", { creationRequestSignatureBase64: "", creationRequestBody: "{}" }],
    ["with the same receiver and amount", { creationRequestSignatureBase64: "", creationRequestBody: "" }],
  ])("is none of ours: one %s", async (_, more) => {
    const service = serviceOf("growing numbers", 3);
    add(service, more);
    const { look: seen, found } = await look(service);
    expect([found, seen.lookalike]).toEqual([undefined, undefined]);
  });

  it("is found after a lookalike", async () => {
    const service = serviceOf("growing numbers", 3);
    const made = add(service, own);
    add(service, { ...own, creationRequestSignatureBase64: foreign });
    expect((await look(service)).found?.id).toBe(made.id);
  });
});
