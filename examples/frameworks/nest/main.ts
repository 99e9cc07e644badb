import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { setting } from "../setting.ts";
import { PaymentsModule } from "./payments.module.ts";

// Connections that are kept alive, or that no request has come over, would keep the process alive too.
const app = await NestFactory.create(PaymentsModule, { forceCloseConnections: true });
app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
await app.listen(Number(setting("PORT", "3000")));
