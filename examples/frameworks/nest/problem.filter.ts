import { type ArgumentsHost, Catch, type ExceptionFilter } from "@nestjs/common";
import type { Response } from "express";
import { replyToError } from "../reply.ts";

/** Problem details of whatever a controller, a pipe or a guard throws. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const response: Response = host.switchToHttp().getResponse();
    const { status, headers = {}, body } = replyToError(exception);
    response.status(status).set(headers).json(body);
  }
}
