import type { PagingValues } from "../../src/api/api-client.js";
import { BadRequestError } from "../../src/errors/errors.js";
import { FlowCall } from "../../src/flows/flow-call.js";
import { lookForPayment } from "../../src/flows/looking/look-for-payment.js";
import type { Mark } from "../../src/flows/state/flow-state.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import type { Payment } from "../../src/resources/payments.js";
import { Alarm } from "../../src/timing/alarm.js";
import { fakeApiClient } from "../paging/fake-api-client.js";
import { intent } from "./gateway-client.js";
import { lookContext } from "./look-context.js";

/** What happens in a service: a payment is made, or one changes. */
export type PaymentChange = { readonly make: number } | { readonly change: number };

interface Row {
  readonly number: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly token: number;
}

export interface ChangingTraits {
  /** One a second. */
  readonly changes: readonly PaymentChange[];
  /** How many of the changes each replica knows. */
  readonly replicas: readonly number[];
  /** Which replica responds to a request, by its number from 0 on. */
  readonly replicaOf: (request: number) => number;
  /** How many payments the service lists at once. */
  readonly cap: number;
  /** Whether a change gives a payment the next paging token. Otherwise it keeps its own. */
  readonly tokensGrow: boolean;
  /** How the service writes when a payment changed for the last time. Default: to the millisecond. */
  readonly updatedAt?: (updatedMs: number, hasChanged: boolean) => string;
  /** Whether it refuses to sort by creation. */
  readonly refusesCreation?: boolean;
  /** How much time lies between two changes. Default: a second. */
  readonly stepMs?: number;
}

const ownSignature = Buffer.alloc(256, 7).toString("base64");
const call = new FlowCall(undefined, new Alarm(), undefined);

/** Payments that change, behind replicas that know some of the changes. The payment with the number 0 is the flow's own. */
export class ChangingPayments {
  readonly requested: PagingValues[] = [];
  readonly client = fakeApiClient({
    call: (_operation, _ids, input) => {
      const page = Promise.resolve().then(() => this.#page(input?.paging ?? {}));
      return toApiPromise(page as Promise<never>, { response: undefined });
    },
  });
  readonly #traits: ChangingTraits;
  readonly #states = new Map<number, readonly Row[]>();

  constructor(traits: ChangingTraits) {
    this.#traits = traits;
  }

  /** Whether every replica lists the flow's payment. */
  get isListed(): boolean {
    return this.#traits.replicas.every((known) => this.#state(known).some(({ number }) => number === 0));
  }

  /** The mark of a payment as it is after so many changes. */
  markOf(wanted: number, known: number): Mark {
    const row = this.#state(known).find(({ number }) => number === wanted);
    return row === undefined ? null : { id: `p-${wanted}`, token: String(row.token) };
  }

  /** Looks for the flow's payment to decide on its absence. */
  look(since: Mark, clockSkewMs = 0) {
    const sought = {
      intent,
      senderGatewayTransactionId: "tx-own",
      claims: [{ body: "{}", signature: ownSignature }],
      since,
      isTakenSince: true as const,
    };
    return lookForPayment(lookContext(this.client, { service: { clockSkewMs } }), call, sought, "decides");
  }

  #state(known: number): readonly Row[] {
    const state = this.#states.get(known) ?? this.#stateAfter(known);
    this.#states.set(known, state);
    return state;
  }

  #stateAfter(known: number): readonly Row[] {
    const rows = new Map<number, Row>();
    for (const [index, change] of this.#traits.changes.slice(0, known).entries()) {
      const [updatedMs, token] = [(this.#traits.stepMs ?? 1000) * index, index + 1];
      if ("make" in change) {
        rows.set(change.make, { number: change.make, createdMs: updatedMs, updatedMs, token });
        continue;
      }
      const row = rows.get(change.change);
      if (row === undefined) continue;
      rows.set(row.number, { ...row, updatedMs, token: this.#traits.tokensGrow ? token : row.token });
    }
    return [...rows.values()];
  }

  #page({ _after, _before, _size, _sort = "pagingToken.asc" }: PagingValues): readonly Payment[] {
    const { replicas, replicaOf, cap, updatedAt = timestamp, refusesCreation } = this.#traits;
    const known = replicas[replicaOf(this.requested.length)] ?? 0;
    this.requested.push({ _after, _before, _size, _sort });
    const [field, way] = _sort.split(",")[0]?.split(".") ?? [];
    if (refusesCreation && field === "createdAt") {
      throw new BadRequestError("payments.list: 400", {
        code: "http_400",
        response: { status: 400, headers: {}, text: "" },
      });
    }
    const keyOf = (row: Row) => (field === "createdAt" ? row.createdMs : row.token);
    return this.#state(known)
      .filter(
        ({ token }) =>
          (_after === undefined || token > Number(_after)) && (_before === undefined || token < Number(_before)),
      )
      .sort((one, other) => (keyOf(one) - keyOf(other)) * (way === "desc" ? -1 : 1))
      .slice(0, Math.min(_size ?? cap, cap))
      .map((row) => toPayment(row, updatedAt));
  }
}

function timestamp(ms: number): string {
  return new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
}

function toPayment(
  { number, createdMs, updatedMs, token }: Row,
  updatedAt: NonNullable<ChangingTraits["updatedAt"]>,
): Payment {
  return {
    id: `p-${number}`,
    createdAt: timestamp(createdMs),
    updatedAt: updatedAt(updatedMs, updatedMs > createdMs),
    pagingToken: String(token),
    senderGatewayTransactionId: number === 0 ? "" : `other-${number}`,
    creationRequestSignatureBase64: number === 0 ? ownSignature : "",
  } as Payment;
}
