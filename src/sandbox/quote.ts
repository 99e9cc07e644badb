import { compare, type Decimal, divide, exact, times } from "../money.js";
import type { ExchangeRate } from "../resources/exchange-rates.js";

/** One end of a payment: a gateway, named as its record's id, and the currency there. */
export interface PaymentEnd {
  readonly gatewayId: string;
  readonly currency: string;
}

export interface QuoteRequest {
  readonly sender: PaymentEnd;
  readonly receiver: PaymentEnd;
  /** What has to arrive: the receiver amount and the receiving gateway's fee, in receiver currency. */
  readonly wanted: Decimal;
  /** Digits of the sender amount after the point; what does not fit is rounded up. */
  readonly scale: number;
}

/**
 * What the sender has to pay, at the exchange rate that is best for the sender; nothing when there is no rate.
 *
 * A rate whose base is the sender's end sells the sender's currency, at `sellPrice`; one whose base is the receiver's
 * end buys the receiver's currency, at `buyPrice`. Within one currency, no rate means one to one.
 *
 * The gateways of `rates` are named as those of the ends are.
 */
export function quote(rates: readonly ExchangeRate[], request: QuoteRequest): string | undefined {
  const { sender, receiver, wanted, scale } = request;
  const round = { scale, rounding: "up" } as const;
  const offers: string[] = [];
  for (const rate of rates) {
    const base = { gatewayId: rate.baseGatewayId, currency: rate.baseCurrency };
    const counter = { gatewayId: rate.counterGatewayId, currency: rate.counterCurrency };
    if (sameEnd(base, sender) && sameEnd(counter, receiver)) {
      offers.push(divide(wanted, exact(rate.sellPrice), round));
    } else if (sameEnd(base, receiver) && sameEnd(counter, sender)) {
      offers.push(divide(times(wanted, exact(rate.buyPrice)), one, round));
    }
  }
  if (offers.length === 0 && sender.currency === receiver.currency) offers.push(divide(wanted, one, round));
  return offers.sort((first, second) => compare(exact(first), exact(second)))[0];
}

const one: Decimal = exact("1");

function sameEnd(first: PaymentEnd, second: PaymentEnd): boolean {
  return first.gatewayId === second.gatewayId && first.currency === second.currency;
}
