import { quoteOrder } from "../../../../../orders.ts";
import { bodyOf, respond } from "../../../../payments.ts";

export async function PUT(request: Request, { params }: RouteContext<"/orders/[order]/quote">): Promise<Response> {
  const { order } = await params;
  return respond(async (bank) => quoteOrder(bank, order, await bodyOf(request), request.signal));
}
