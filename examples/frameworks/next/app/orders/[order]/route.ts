import { showOrder } from "../../../../orders.ts";
import { respond } from "../../../payments.ts";

export async function GET(_: Request, { params }: RouteContext<"/orders/[order]">): Promise<Response> {
  const { order } = await params;
  return respond((bank) => showOrder(bank, order));
}
