import { confirmOrder } from "../../../../../orders.ts";
import { bodyOf, respond } from "../../../../payments.ts";

export async function POST(request: Request, { params }: RouteContext<"/orders/[order]/confirm">): Promise<Response> {
  const { order } = await params;
  return respond(async (bank) => confirmOrder(bank, order, await bodyOf(request)));
}
