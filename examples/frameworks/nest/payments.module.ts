import { type BeforeApplicationShutdown, type MiddlewareConsumer, Module, type NestModule } from "@nestjs/common";
import { APP_FILTER, APP_INTERCEPTOR } from "@nestjs/core";
import { deskListener } from "cross-border-payments/desk";
import { Bank } from "../bank.ts";
import { staffPages } from "../staff-pages.ts";
import { OrdersController } from "./orders.controller.ts";
import { ProblemFilter } from "./problem.filter.ts";
import { ReplyInterceptor } from "./reply.interceptor.ts";

@Module({
  controllers: [OrdersController],
  providers: [
    { provide: Bank, useFactory: () => Bank.open() },
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_INTERCEPTOR, useClass: ReplyInterceptor },
  ],
})
export class PaymentsModule implements NestModule, BeforeApplicationShutdown {
  readonly #bank: Bank;

  constructor(bank: Bank) {
    this.#bank = bank;
  }

  configure(consumer: MiddlewareConsumer): void {
    const { login, desk } = staffPages(this.#bank.flow);
    consumer.apply(deskListener(login)).forRoutes("login").apply(deskListener(desk)).forRoutes("desk");
  }

  /** Waiting customers get 202. Then Nest closes their connections. */
  beforeApplicationShutdown(): Promise<void> {
    return this.#bank.close();
  }
}
