/** A sentence for whoever made the request, and its status. Fastify's own errors of a request, such as a body that is too long, are such too. */
export class Failure extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

export function isFailure(error: unknown): error is Failure {
  const status: unknown = Reflect.get(Object(error), "statusCode");
  return error instanceof Error && typeof status === "number" && status >= 400 && status < 500;
}
