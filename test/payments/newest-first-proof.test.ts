import { describe, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import {
  BadRequestError,
  ConnectionError,
  PermissionDeniedError,
  UnprocessableEntityError,
} from "../../src/errors/errors.js";
import { NewestFirstProof } from "../../src/payments/newest-first-proof.js";
import { compareTokens, type Direction } from "../../src/payments/token-order.js";

/** The place of a record in this array is the order of creation; two that stand together were created at one instant. */
type Created = readonly (readonly string[])[];

interface ListTraits {
  readonly created: Created;
  readonly compare?: (one: string, other: string) => number;
  /** Takes the records with the lowest tokens, and sorts only those. */
  readonly sortsWhatItCutOut?: boolean;
  /** Throws for a request that the service refuses. */
  readonly refuse?: (paging: PagingValues) => void;
}

const asTexts = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** A list of tokens, read as SQL does. Without `_sort`, it is in the order of the tokens. */
class TokenList {
  readonly asked: PagingValues[] = [];
  created: Created;
  readonly #traits: ListTraits;

  constructor(traits: ListTraits) {
    this.created = traits.created;
    this.#traits = traits;
  }

  readonly read = async (paging: PagingValues): Promise<string[]> => {
    const { compare = compareTokens, sortsWhatItCutOut = false, refuse } = this.#traits;
    this.asked.push(paging);
    refuse?.(paging);
    const { _after, _before, _size = 100, _sort = "pagingToken.asc" } = paging;
    const within = this.created
      .flatMap((tokens, createdAt) => tokens.map((pagingToken) => ({ pagingToken, createdAt })))
      .filter(({ pagingToken }) => _after === undefined || compare(pagingToken, _after) > 0)
      .filter(({ pagingToken }) => _before === undefined || compare(pagingToken, _before) < 0)
      .sort((one, other) => compare(one.pagingToken, other.pagingToken));
    const cut = sortsWhatItCutOut ? within.slice(0, _size) : within;
    for (const term of _sort.split(",").reverse()) {
      if (!/^(?:createdAt|pagingToken)\.(?:asc|desc)$/.test(term)) throw refusal(400);
      const sign = term.endsWith(".desc") ? -1 : 1;
      cut.sort((one, other) =>
        term.startsWith("createdAt.")
          ? sign * (one.createdAt - other.createdAt)
          : sign * compare(one.pagingToken, other.pagingToken),
      );
    }
    return cut.map(({ pagingToken }) => pagingToken).slice(0, _size);
  };
}

const size = 3;
const sortOf = (direction: Direction) => `createdAt.desc,pagingToken.${direction === "down" ? "desc" : "asc"}`;
const proofOf = (list: TokenList, direction: Direction = "down") =>
  new NewestFirstProof(list.read, sortOf(direction), size);

/** What the proof says to each page. */
async function judge(list: TokenList, pages: readonly (readonly string[])[], direction: Direction = "down") {
  const proof = proofOf(list, direction);
  const judged: boolean[] = [];
  for (const page of pages) judged.push(await proof.holds(page, direction));
  return judged;
}

const refusal = (status: 400 | 403 | 422) => {
  const details = { code: `http_${status}`, response: { status, headers: {}, text: "" } } as const;
  if (status === 400) return new BadRequestError("no", details);
  return status === 422 ? new UnprocessableEntityError("no", details) : new PermissionDeniedError("no", details);
};

describe("pages from the newest record back", () => {
  const rising: Created = [["1", "2"], ["3"], ["4", "5"], ["6", "7"], ["8"], ["9", "10"]];
  const falling: Created = [["10", "9"], ["8"], ["7", "6"], ["5", "4"], ["3"], ["2", "1"]];

  it.each([
    ["down", rising, 1],
    ["down", rising, 2],
    ["down", rising, 3],
    ["down", rising, 7],
    ["up", falling, 1],
    ["up", falling, 2],
    ["up", falling, 3],
    ["up", falling, 7],
  ] as const)("pass none over where the tokens go %s: %j, %i at a time", async (direction, created, length) => {
    const list = new TokenList({ created });
    const all = await list.read({ _sort: sortOf(direction) });
    const pages = Array.from({ length: Math.ceil(all.length / length) }, (_, index) =>
      all.slice(index * length, (index + 1) * length),
    );
    list.asked.length = 0;
    expect(await judge(list, [...pages, []], direction)).toEqual([...pages, []].map(() => true));
    // A question for each page, for one token.
    expect(list.asked.map(({ _size }) => _size)).toEqual([...pages, []].map(() => 1));
  });

  it("are the whole of an empty list, which nothing has to be asked about", async () => {
    const list = new TokenList({ created: [] });
    expect(await judge(list, [[]])).toEqual([true]);
    expect(list.asked).toEqual([]);
  });

  it("are not proved to end after a single record", async () => {
    expect(await judge(new TokenList({ created: [["1"]] }), [["1"], []])).toEqual([true, false]);
  });

  it.each([
    ["between two pages", [["10", "9"], ["7"]], [true, false]],
    ["between two pages of one record", [["10"], ["8"]], [true, false]],
    ["between the last two records", [["10", "9"], ["8", "6"], []], [true, true, false]],
  ])("pass one over %s", async (_, pages, judged) => {
    expect(await judge(new TokenList({ created: rising }), pages)).toEqual(judged);
  });

  it("pass over 999 where it comes after 1000 as a text", async () => {
    const list = new TokenList({ created: [["998"], ["999"], ["1000"], ["1001"]], compare: asTexts });
    expect(await judge(list, [["1001", "1000"], []])).toEqual([false, false]);
  });

  it("pass over the one of two records that got the higher token, though it was created first", async () => {
    const list = new TokenList({ created: [["1"], ["2"], ["4"], ["3"], ["5"]] });
    expect(await judge(list, [["5", "3"], ["2"]])).toEqual([true, false]);
  });
});

describe("a first page", () => {
  const created: Created = [["1"], ["2"], ["3"], ["4"], ["5"]];

  it("does not begin with the newest where the service sorts only what it cut out", async () => {
    const list = new TokenList({ created, sortsWhatItCutOut: true });
    expect(await judge(list, [["3", "2", "1"]])).toEqual([false]);
  });

  it("began with the newest where the list begins with others now", async () => {
    const list = new TokenList({ created });
    list.created = [...created, ["6"]];
    expect(await judge(list, [["5", "4", "3"]])).toEqual([true]);
  });

  it("is not proved where the list is empty when it is read again", async () => {
    let asked = 0;
    const proof = new NewestFirstProof(async () => (asked++ === 0 ? ["6"] : []), sortOf("down"), size);
    expect(await proof.holds(["5"], "down")).toBe(false);
    expect(asked).toBe(2);
  });
});

describe("a service that refuses a question", () => {
  const created: Created = [["1"], ["2"], ["3"], ["4"], ["5"]];
  const isBounded = ({ _after, _before }: PagingValues) => _after !== undefined || _before !== undefined;
  const refusing = (status: 400 | 403 | 422, isRefused: (paging: PagingValues) => boolean) =>
    new TokenList({
      created,
      refuse: (paging) => {
        if (isRefused(paging)) throw refusal(status);
      },
    });

  it.each([400, 422] as const)("proves nothing with status %i", async (status) => {
    expect(await judge(refusing(status, isBounded), [["5", "4"]])).toEqual([false]);
    expect(
      await judge(
        refusing(status, () => true),
        [["5", "4"]],
      ),
    ).toEqual([false]);
    const isSorted = ({ _sort }: PagingValues) => _sort !== undefined;
    expect(await judge(refusing(status, isSorted), [["5", "4"], ["3"], []])).toEqual([true, false, false]);
  });

  it.each([
    ["status 403", refusal(403)],
    ["no response", new ConnectionError("away")],
  ])("fails the proof with %s, which says nothing about the list", async (_, failure) => {
    const fail = () => {
      throw failure;
    };
    await expect(proofOf(new TokenList({ created, refuse: fail })).holds(["5"], "down")).rejects.toBe(failure);
  });
});
