import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { deskListener } from "cross-border-payments/desk";
import { setting } from "../../support/setting.ts";
import { Bank } from "../bank.ts";
import { staffPages } from "../staff-pages.ts";
import { PaymentsModule } from "./payments.module.ts";

// Connections that are kept alive, or that no request has come over, would keep the process alive too.
const app = await NestFactory.create(PaymentsModule, { forceCloseConnections: true });

const { login, desk } = staffPages(app.get(Bank).flow);
app.use("/login", deskListener(login));
app.use("/desk", deskListener(desk));

app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
await app.listen(Number(setting("PORT", "3000")));
