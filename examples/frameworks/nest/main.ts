import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { deskListener } from "cross-border-payments/desk";
import { Bank, setting } from "../bank.ts";
import { staffPages } from "../staff.ts";
import { PaymentsModule } from "./payments.module.ts";

const app = await NestFactory.create(PaymentsModule);

const { login, desk } = staffPages(app.get(Bank).flow);
app.use("/login", deskListener(login));
app.use("/desk", deskListener(desk));

app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
await app.listen(Number(setting("PORT", "3000")));
