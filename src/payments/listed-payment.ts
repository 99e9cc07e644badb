import type { Payment } from "../resources/payments.js";
import { nonEmptyText } from "./token-order.js";

/** What a payment is known by in a list. */
export interface PaymentName {
  readonly id?: string | undefined;
  readonly token?: string | undefined;
}

export function tokenOf(payment: Partial<Payment> | undefined): string | undefined {
  return nonEmptyText(payment?.pagingToken);
}

export function nameOf(payment: Partial<Payment>): PaymentName {
  return { id: nonEmptyText(payment.id), token: tokenOf(payment) };
}

/** Whether a listed payment is the one of this name. Its token may have grown when it changed; a service may give no ids. */
export function isNamed(payment: Partial<Payment>, { id, token }: PaymentName): boolean {
  if (id !== undefined && nonEmptyText(payment.id) === id) return true;
  return token !== undefined && tokenOf(payment) === token;
}

/** Milliseconds since 1970; none for a time without its zone, which `Date.parse` alone would read in the zone of this machine. */
export function zonedMsOf(text: string): number {
  return zoned.test(text) ? Date.parse(text) : Number.NaN;
}

const zoned = /\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)$/i;
