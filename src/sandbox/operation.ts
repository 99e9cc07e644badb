import { type Handlers, handlerOf } from "./handlers.js";
import { assertBody, type JsonObject, parseJsonObject } from "./request-body.js";
import { emptyResponse, jsonResponse, Refusal, refusalResponse } from "./responses.js";
import type { Route } from "./routes.js";
import type { SandboxRequest } from "./sandbox-options.js";
import type { Call, Service } from "./service.js";
import { checkSignature, signatureHeader } from "./signature-check.js";

/** A request for one operation, by someone who may make it. */
export interface OperationRequest {
  readonly seen: SandboxRequest;
  readonly bytes: Uint8Array;
  readonly route: Route;
}

/** Does what is asked for: everything or nothing. */
export async function respondToOperation(
  service: Service,
  handlers: Handlers,
  request: OperationRequest,
): Promise<Response> {
  const { operation } = request.route;
  try {
    const call = await callOf(service, request);
    const output = handlerOf(handlers, operation.name)(call);
    return output === undefined ? emptyResponse() : jsonResponse(output);
  } catch (error) {
    if (error instanceof Refusal) return refusalResponse(error, operation.verb);
    throw error;
  }
}

const noBody: JsonObject = {};

async function callOf(
  { ledger, settings }: Service,
  { seen, bytes, route }: OperationRequest,
): Promise<Call<JsonObject>> {
  const { operation, params } = route;
  const { headers, path, query } = seen;
  const body = operation.body === undefined ? noBody : parseJsonObject(bytes, headers.get("content-type"));
  const signedPath = settings.signQuery && query !== "" ? `${path}?${query}` : path;
  const signature = settings.signedOperations.has(operation.name)
    ? await checkSignature(ledger, {
        operation,
        params,
        body,
        signedPath,
        rawBody: bytes,
        signature: headers.get(signatureHeader),
      })
    : undefined;
  assertBody(operation, body);
  return { params, query: new URLSearchParams(query), body, rawText: seen.body, signedPath, signature };
}
