import { type BeforeApplicationShutdown, Injectable, Module } from "@nestjs/common";
import { APP_FILTER, APP_INTERCEPTOR } from "@nestjs/core";
import { Bank } from "../bank.ts";
import { OrdersController } from "./orders.controller.ts";
import { ProblemFilter } from "./problem.filter.ts";
import { ReplyInterceptor } from "./reply.interceptor.ts";

/** Customers who wait get 202; then Nest closes their connections. */
@Injectable()
class Shutdown implements BeforeApplicationShutdown {
  readonly #bank: Bank;

  constructor(bank: Bank) {
    this.#bank = bank;
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#bank.close();
  }
}

@Module({
  controllers: [OrdersController],
  providers: [
    { provide: Bank, useFactory: () => Bank.open() },
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_INTERCEPTOR, useClass: ReplyInterceptor },
    Shutdown,
  ],
})
export class PaymentsModule {}
