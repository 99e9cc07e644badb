import fc from "fast-check";
import { expect, it } from "vitest";
import { Ended } from "../../src/core/deadline.js";
import { CrossBorderError, type Effect } from "../../src/core/errors.js";
import { RetryBudget } from "../../src/http/report.js";
import { WireFailure } from "../../src/wire/transport.js";
import { runs } from "../support/thorough.js";
import { calls, json, ownError, payment, paymentRecord, type Step, scriptedClient } from "./scripted-transport.js";
import { openRefusals } from "./statuses.js";

/** One attempt: what the caller's side sees of it, and what the service did. */
interface Attempt {
  readonly step: Step;
  readonly commits: boolean;
}

const headers = fc.constantFrom<Record<string, string>>(
  {},
  { "retry-after": "0" },
  { "retry-after": "soon" },
  { "content-type": "text/html" },
);
const text = JSON.stringify(paymentRecord());
const identity = `{"id":"1","senderGatewayTransactionId":"${payment.senderGatewayTransactionId}","memo":"re`;
const page = "<!doctype html><p>Sorry";
const broken = fc.constantFrom("cut-short", "too-large", "not-utf8", "encoded", "timeout", "abort");
const failure = (sent: boolean) => new WireFailure({ sent, reason: "REASON" });

/** The service says that it did nothing, or never saw the request. */
const refusals: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom<Step>(failure(false), new Ended("timeout", false), new Ended("abort", false)),
  fc.tuple(fc.constantFrom(400, 403, 404, 422, 429), headers).map((given) => ownError(...given)),
  fc.constantFrom("", page, "{}").map((body) => ({ status: 401, text: body })),
);
/** The service says that it did it. */
const successes: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom(200, 201, 202, 226).map((status) => ({ status, text })),
  broken.map((how) => ({ text: identity, broken: how })),
);
/** Nobody says anything that could be relied on. */
const strange: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom<Step>(failure(true), new Ended("timeout", true), new Ended("abort", true)),
  fc
    .tuple(
      fc.constantFrom(300, 302, 303, 304, 307, 400, 403, 404, 422, 429, 500, 503, 600, ...openRefusals),
      fc.constantFrom(page, "", "{}", '{"message":"no"}', '["error","message"]'),
      headers,
    )
    .map(([status, body, own]) => ({ status, text: body, headers: own })),
  fc.constantFrom(500, 503, ...openRefusals).map((status) => ownError(status)),
  fc.tuple(fc.constantFrom(page, "", "{", '{"id":'), broken).map(([body, how]) => ({ text: body, broken: how })),
  fc
    .constantFrom<unknown>({}, [], null, "ok", { status: "up" }, { id: null }, [paymentRecord()])
    .map((body) => json(body)),
  fc.constantFrom({ text: page }, { status: 204, text: "" }, { text: identity.replace('"1"', "null") }),
);
const ofAnotherPayment = json({ ...paymentRecord(), senderGatewayTransactionId: "tx-0" });

const kinds = ["read", "update", "create", "repeatable", "signed"] as const;

/** Only a payment's response tells whose it is. */
function attemptsOf(kind: (typeof kinds)[number]): fc.Arbitrary<readonly Attempt[]> {
  const unsure = kind === "signed" ? fc.oneof(strange, strange, fc.constant(ofAnotherPayment)) : strange;
  const attempt = fc.oneof(
    refusals.map((step) => ({ step, commits: false })),
    successes.map((step) => ({ step, commits: true })),
    fc.tuple(unsure, fc.boolean()).map(([step, commits]) => ({ step, commits })),
  );
  return fc.array(attempt, { minLength: 6, maxLength: 6 });
}

it.each(kinds)("says nothing false of any series of responses: %s", async (kind) => {
  await fc.assert(
    fc.asyncProperty(attemptsOf(kind), fc.nat(4), async (series, maxRetries) => {
      const steps = series.map(({ step }) => step);
      const { client, transport } = scriptedClient(steps, { budget: new RetryBudget(1e6) });
      const effect = await effectOf(calls[kind](client, { maxRetries }));
      // The responses to an update have no content: any 2xx is a success, unless it is a page.
      const commits = series
        .slice(0, transport.sent.length)
        .filter((one) => one.commits || (kind === "update" && isSuccess(one.step))).length;
      if (kind === "read") expect(effect).not.toBe("possible");
      else {
        if (effect === "none") expect(commits).toBe(0);
        if (effect === "done") expect(commits).toBeGreaterThan(0);
      }
      if (kind === "signed") {
        const mayHaveArrived = series.slice(0, transport.sent.length - 1).filter((one) => one.commits);
        expect(mayHaveArrived).toEqual([]);
        expect(new Set(transport.sent.map(({ body }) => body)).size).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: runs(500) },
  );
});

function isSuccess(step: Step): boolean {
  return typeof step === "object" && !(step instanceof Error) && (step.status ?? 200) < 300;
}

async function effectOf(call: PromiseLike<unknown>): Promise<Effect> {
  try {
    await call;
    return "done";
  } catch (error) {
    if (!(error instanceof CrossBorderError)) throw error;
    return error.effect;
  }
}
