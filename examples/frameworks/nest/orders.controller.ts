import { Body, Controller, createParamDecorator, type ExecutionContext, Get, Param, Post, Put } from "@nestjs/common";
import { Bank } from "../bank.ts";
import { customerLeft } from "../customer-left.ts";
import { confirmOrder, health, quoteOrder, showOrder } from "../orders.ts";
import type { Reply } from "../reply.ts";

/** An `AbortSignal` of the request. */
const CustomerLeft = createParamDecorator((_: unknown, context: ExecutionContext) =>
  customerLeft(context.switchToHttp().getResponse()),
);

/** Put authorization (the sender's own session) in a guard. */
@Controller()
export class OrdersController {
  readonly #bank: Bank;

  constructor(bank: Bank) {
    this.#bank = bank;
  }

  @Put("orders/:order/quote")
  quote(@Param("order") order: string, @Body() body: unknown, @CustomerLeft() left: AbortSignal): Promise<Reply> {
    return quoteOrder(this.#bank, order, body, left);
  }

  @Post("orders/:order/confirm")
  confirm(@Param("order") order: string, @Body() body: unknown): Promise<Reply> {
    return confirmOrder(this.#bank, order, body);
  }

  @Get("orders/:order")
  show(@Param("order") order: string): Promise<Reply> {
    return showOrder(this.#bank, order);
  }

  @Get("health")
  health(): Promise<Reply> {
    return health(this.#bank);
  }
}
