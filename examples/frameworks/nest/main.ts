import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { setting } from "../setting.ts";
import { PaymentsModule } from "./payments.module.ts";

// Idle connections would keep the process alive.
const app = await NestFactory.create(PaymentsModule, { forceCloseConnections: true });
app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
await app.listen(Number(setting("PORT", "3000")));
