import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from "@nestjs/common";
import type { Response } from "express";
import { map, type Observable } from "rxjs";
import type { Reply } from "../reply.ts";

/** A controller returns a `Reply`: its status and headers are the response's, and its body is what Nest sends. */
@Injectable()
export class ReplyInterceptor implements NestInterceptor<Reply, object> {
  intercept(context: ExecutionContext, next: CallHandler<Reply>): Observable<object> {
    const response: Response = context.switchToHttp().getResponse();
    return next.handle().pipe(
      map(({ status, headers = {}, body }) => {
        response.status(status).set(headers);
        return body;
      }),
    );
  }
}
